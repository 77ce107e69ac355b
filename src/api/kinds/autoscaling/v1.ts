// autoscaling/v1: the older form of an autoscaler, which knows the CPU only. Pure.
// Guarantees: what this form has no field for travels in annotations, so that reading and writing back loses nothing.
import { decodeModel } from '../../decode.js';
import type {
  V1HorizontalPodAutoscaler,
  V1ObjectMeta,
  V2HorizontalPodAutoscaler,
  V2MetricSpec,
  V2MetricStatus,
} from '../../gen/types.js';
import type { Draft, KindVersion } from '../../kind.js';
import { isMembers } from '../../ownKeys.js';
import { HORIZONTAL_POD_AUTOSCALERS_V1 } from '../../resources.js';
import { statusError } from '../../status.js';

const PREFIX = 'autoscaling.alpha.kubernetes.io/';
/** The model of what each annotation holds, and whether it is a list of them. */
const CARRIED = {
  metrics: { model: 'V2MetricSpec', isList: true },
  behavior: { model: 'V2HorizontalPodAutoscalerBehavior', isList: false },
  conditions: { model: 'V2HorizontalPodAutoscalerCondition', isList: true },
  'current-metrics': { model: 'V2MetricStatus', isList: true },
} as const;
type Carried = keyof typeof CARRIED;

export const autoscalingV1: KindVersion<V2HorizontalPodAutoscaler> = {
  type: HORIZONTAL_POD_AUTOSCALERS_V1,
  model: 'V1HorizontalPodAutoscaler',
  toStored: (draft) => toV2(draft as Draft<V1HorizontalPodAutoscaler>),
  fromStored: toV1,
};

const isCpuShare = ({ type, resource }: V2MetricSpec) =>
  type === 'Resource' && resource?.name === 'cpu' && resource.target?.averageUtilization !== undefined;

const isCpuStatus = ({ type, resource }: V2MetricStatus) =>
  type === 'Resource' && resource?.name === 'cpu' && resource.current?.averageUtilization !== undefined;

function toV1(stored: V2HorizontalPodAutoscaler): V1HorizontalPodAutoscaler {
  const { metadata, spec, status } = stored;
  const { metrics = [], behavior, ...plain } = spec;
  const { currentMetrics = [], conditions, ...counts } = status ?? { desiredReplicas: 0 };
  const cpu = metrics.find(isCpuShare);
  const measured = currentMetrics.find(isCpuStatus);
  const share = cpu?.resource?.target.averageUtilization;
  const current = measured?.resource?.current.averageUtilization;
  return {
    kind: stored.kind,
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(metadata, {
      metrics: metrics.filter((some) => some !== cpu),
      behavior,
      conditions,
      'current-metrics': currentMetrics.filter((some) => some !== measured),
    }),
    spec: { ...plain, ...(share === undefined ? {} : { targetCPUUtilizationPercentage: share }) },
    status: {
      ...counts,
      currentReplicas: counts.currentReplicas ?? 0,
      ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
    },
  };
}

function toV2(draft: Draft<V1HorizontalPodAutoscaler>): Draft<V2HorizontalPodAutoscaler> {
  const { metadata, spec, status } = draft;
  const { targetCPUUtilizationPercentage: share, ...plain } = spec ?? {};
  const { currentCPUUtilizationPercentage: current, ...counts } = status ?? {};
  const carried = takeAnnotations(metadata);
  const cpu =
    share === undefined
      ? []
      : [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: share } },
          },
        ];
  const measured =
    current === undefined
      ? []
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }];
  const metrics = [...cpu, ...((carried.metrics ?? []) as object[])];
  const currentMetrics = [...measured, ...((carried['current-metrics'] ?? []) as object[])];
  return {
    ...draft,
    apiVersion: 'autoscaling/v2',
    spec: {
      ...plain,
      ...(metrics.length === 0 ? {} : { metrics }),
      ...(carried.behavior === undefined ? {} : { behavior: carried.behavior }),
    },
    ...(status === undefined
      ? {}
      : {
          status: {
            ...counts,
            ...(currentMetrics.length === 0 ? {} : { currentMetrics }),
            ...(carried.conditions === undefined ? {} : { conditions: carried.conditions }),
          },
        }),
  } as Draft<V2HorizontalPodAutoscaler>;
}

function withAnnotations(
  metadata: V1ObjectMeta | undefined,
  parts: Readonly<Record<Carried, unknown>>,
): V1ObjectMeta | undefined {
  const annotations = { ...metadata?.annotations };
  for (const [name, value] of Object.entries(parts)) {
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) annotations[`${PREFIX}${name}`] = JSON.stringify(value);
  }
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations };
}

/** Removes what withAnnotations added. Throws BadRequest when it is not what it should be. */
function takeAnnotations(metadata: Draft<V1ObjectMeta> | undefined): Partial<Record<Carried, unknown>> {
  const annotations = metadata?.annotations;
  const taken: Partial<Record<Carried, unknown>> = {};
  if (metadata === undefined || annotations === undefined) return taken;
  for (const name of Object.keys(CARRIED) as Carried[]) {
    const key = `${PREFIX}${name}`;
    const text = annotations[key];
    if (text === undefined) continue;
    delete annotations[key];
    taken[name] = readCarried(name, text);
  }
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
  return taken;
}

function readCarried(name: Carried, text: string): unknown {
  const { model, isList } = CARRIED[name];
  try {
    const value: unknown = JSON.parse(text);
    if (!isList) return decodeModel(model, value).object;
    if (!Array.isArray(value) || !value.every(isMembers)) throw new Error('not a list of objects');
    return value.map((item: unknown) => decodeModel(model, item).object);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'not JSON';
    throw statusError('BadRequest', `the annotation ${PREFIX}${name} cannot be read: ${why}`, undefined, {
      cause,
    });
  }
}
