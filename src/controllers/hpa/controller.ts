// The HorizontalPodAutoscaler controller: every fifteen seconds each target is measured and, if need be, scaled.
// Guarantees: scales only through the target's scale subresource; memory of wishes and changes is bounded by their windows;
// the size that is found at the first look counts as a wish, so nothing shrinks before its window is over.
import type { V1Scale, V2HorizontalPodAutoscalerStatus } from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import { milliValue } from '../../api/quantity.js';
import { HORIZONTAL_POD_AUTOSCALERS, PODS } from '../../api/resources.js';
import { parseLabelSelector } from '../../api/selectors.js';
import { messageOf } from '../../base/errorMessage.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { discover } from '../discovery.js';
import { writeStatus } from '../statusWrite.js';
import { memoryMs, type Recommendation, type ScaleEvent } from './limits.js';
import { readMetric } from './metrics.js';
import { type Autoscaler, Conditions, metricEvents, planAutoscaler } from './plan.js';
import type { HpaTimes } from './replicas.js';

const NAME = 'horizontal-pod-autoscaler-controller';
/** The longest period that a policy may have. */
const EVENTS_MS = 1800_000;

export interface AutoscalerOptions extends HpaTimes {
  readonly periodMs: number;
  /** By how much the measured may differ from the target, where the autoscaler does not say. */
  readonly tolerance: number;
  /** How long a wish for fewer pods waits for one for more, where the autoscaler does not say. */
  readonly downscaleStabilizationMs: number;
}

export const AUTOSCALER_DEFAULTS: AutoscalerOptions = {
  periodMs: 15_000,
  tolerance: 0.1,
  downscaleStabilizationMs: 5 * 60_000,
  cpuInitializationMs: 5 * 60_000,
  initialReadinessDelayMs: 30_000,
};

interface Memory {
  /** Undefined before the first look at the target. */
  recommendations: Recommendation[] | undefined;
  events: ScaleEvent[];
}

export const autoscalerController = (options: AutoscalerOptions): Controller => ({
  name: NAME,
  needs: [HORIZONTAL_POD_AUTOSCALERS],
  run(context) {
    const autoscalers = context.informers.of(HORIZONTAL_POD_AUTOSCALERS);
    const pods = context.informers.of(PODS);
    pods.index('namespace', ({ metadata }) => [metadata.namespace ?? '']);
    const memories = new Map<string, Memory>();
    const queue = newQueue(context);
    autoscalers.on({
      added: ({ metadata }) => queue.add(keyOf(metadata)),
      updated: (autoscaler, previous) => {
        // Our own status is no news.
        if (autoscaler.metadata.generation !== previous.metadata.generation)
          queue.add(keyOf(autoscaler.metadata));
      },
      deleted: ({ metadata }) => void memories.delete(metadata.uid),
    });
    const reconcile = async (key: string): Promise<number | undefined> => {
      const autoscaler = autoscalers.get(key);
      if (autoscaler === undefined || autoscaler.metadata.deletionTimestamp !== undefined) return undefined;
      const memory = memories.get(autoscaler.metadata.uid) ?? { recommendations: undefined, events: [] };
      memories.set(autoscaler.metadata.uid, memory);
      await autoscale(context, options, withStabilization(autoscaler, options), memory);
      return options.periodMs;
    };
    return runLoop(context, NAME, { queue, reconcile });
  },
});

function withStabilization(autoscaler: Autoscaler, options: AutoscalerOptions): Autoscaler {
  const { behavior } = autoscaler.spec;
  const stabilizationWindowSeconds =
    behavior?.scaleDown?.stabilizationWindowSeconds ?? options.downscaleStabilizationMs / 1000;
  const scaleDown = { ...behavior?.scaleDown, stabilizationWindowSeconds };
  return { ...autoscaler, spec: { ...autoscaler.spec, behavior: { ...behavior, scaleDown } } };
}

async function autoscale(
  context: ControllerContext,
  options: AutoscalerOptions,
  autoscaler: Autoscaler,
  memory: Memory,
): Promise<void> {
  const { now } = context;
  const target = await readTarget(context, autoscaler);
  if ('error' in target) return tellNoTarget(context, autoscaler, target.error);
  const { path, scale } = target;
  const current = scale.spec?.replicas ?? 0;
  // The size that is found counts as a wish: a start here, or a new autoscaler, shrinks nothing at once.
  memory.recommendations ??= [{ replicas: current, atMs: now() }];
  const { recommendations, events } = memory;
  const metrics = await measure(context, options, autoscaler, scale);
  const plan = planAutoscaler({
    autoscaler,
    specReplicas: current,
    metrics,
    recommendations,
    events,
    now: now(),
    statusReplicas: scale.status?.replicas ?? 0,
  });
  if (plan.scaleTo !== undefined) {
    await context.client.raw('PUT', path, { ...scale, spec: { ...scale.spec, replicas: plan.scaleTo } });
    memory.events.push({ change: plan.scaleTo - current, atMs: now() });
    const message = `New size: ${plan.scaleTo}; reason: ${plan.because}`;
    const event = { type: 'Normal', reason: 'SuccessfulRescale', message } as const;
    context.record(HORIZONTAL_POD_AUTOSCALERS, autoscaler, event);
  }
  if (plan.recommendation !== undefined) recommendations.push({ replicas: plan.recommendation, atMs: now() });
  memory.recommendations = recommendations.filter(({ atMs }) => atMs > now() - memoryMs(autoscaler.spec));
  memory.events = memory.events.filter(({ atMs }) => atMs > now() - EVENTS_MS);
  await tell(context, autoscaler, plan.status);
}

/** The target's scale subresource, and where it is. */
async function readTarget(
  context: ControllerContext,
  { metadata, spec }: Autoscaler,
): Promise<{ readonly path: string; readonly scale: V1Scale } | { readonly error: unknown }> {
  try {
    const path = await scalePath(context, metadata.namespace ?? '', spec.scaleTargetRef);
    return { path, scale: await context.client.raw<V1Scale>('GET', path) };
  } catch (error) {
    return { error };
  }
}

async function tellNoTarget(context: ControllerContext, autoscaler: Autoscaler, error: unknown) {
  const conditions = new Conditions(autoscaler, context.now());
  const why = `the HPA controller was unable to get the target's current scale: ${messageOf(error)}`;
  conditions.set('AbleToScale', 'False', 'FailedGetScale', why);
  const event = { type: 'Warning', reason: 'FailedGetScale', message: messageOf(error) } as const;
  context.record(HORIZONTAL_POD_AUTOSCALERS, autoscaler, event);
  await tell(context, autoscaler, { ...autoscaler.status, conditions: conditions.list() });
}

/** Each metric of the autoscaler, read; those that cannot be are recorded. */
async function measure(
  context: ControllerContext,
  options: AutoscalerOptions,
  autoscaler: Autoscaler,
  { spec, status }: V1Scale,
): Promise<Awaited<ReturnType<typeof readMetric>>[]> {
  const { client, informers, now } = context;
  const { namespace = '' } = autoscaler.metadata;
  const { metrics = [], behavior } = autoscaler.spec;
  const selector = status?.selector ?? '';
  const matches = parseLabelSelector(selector);
  // A quantity, which the server may have written as 50m.
  const tolerance = (text: string | undefined) =>
    text === undefined ? options.tolerance : milliValue(text) / 1000;
  const request = {
    client,
    namespace,
    selector,
    pods: informers
      .of(PODS)
      .byIndex('namespace', namespace)
      .filter(({ metadata }) => selector !== '' && matches(metadata.labels)),
    current: spec?.replicas ?? 0,
    tolerances: {
      up: tolerance(behavior?.scaleUp?.tolerance),
      down: tolerance(behavior?.scaleDown?.tolerance),
    },
    times: options,
    now: now(),
    resourceOf: (apiVersion: string | undefined, kind: string) => resourceName(context, apiVersion, kind),
  };
  const results = await Promise.all(metrics.map((metric) => readMetric(request, metric)));
  for (const { reason, message } of metricEvents(results))
    context.record(HORIZONTAL_POD_AUTOSCALERS, autoscaler, { type: 'Warning', reason, message });
  return results;
}

async function served(context: ControllerContext, apiVersion: string | undefined, kind: string) {
  const group = apiVersion?.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const { served: kinds, failed } = await discover(context.client);
  const found = kinds.find((type) => type.group === group && type.kind === kind);
  const [unknown] = [...failed].filter(([version]) => version.startsWith(`${group}/`));
  if (found === undefined && unknown !== undefined) throw new Error(unknown.join(': '));
  if (found === undefined) throw new Error(`no matches for kind "${kind}" in group "${group}"`);
  return found;
}

async function resourceName(context: ControllerContext, apiVersion: string | undefined, kind: string) {
  const { group, resource } = await served(context, apiVersion, kind);
  return group === '' ? resource : `${resource}.${group}`;
}

async function scalePath(
  context: ControllerContext,
  namespace: string,
  { apiVersion, kind, name }: Autoscaler['spec']['scaleTargetRef'],
): Promise<string> {
  const { group, version, resource } = await served(context, apiVersion, kind);
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${base}/namespaces/${namespace}/${resource}/${encodeURIComponent(name)}/scale`;
}

/** A conflict is settled at the next look. */
async function tell(
  context: ControllerContext,
  autoscaler: Autoscaler,
  status: V2HorizontalPodAutoscalerStatus,
) {
  await ignoring(['Conflict'], writeStatus({ context }, HORIZONTAL_POD_AUTOSCALERS, autoscaler, status));
}
