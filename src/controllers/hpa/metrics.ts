// Reads the metrics APIs and turns each metric of an autoscaler into a number of pods.
// Guarantees: a metric that cannot be had is a result that says why, never an exception; amounts are in thousandths.
import type { V2MetricSpec, V2MetricStatus, V2MetricTarget } from '../../api/gen/types.js';
import { milliValue } from '../../api/quantity.js';
import { labelSelectorString } from '../../api/selectors.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import type { Pod } from '../pods.js';
import type { MetricResult } from './plan.js';
import {
  groupPods,
  type HpaTimes,
  type Measured,
  type Proposal,
  perPodReplicas,
  sharedReplicas,
  type Tolerances,
  totalReplicas,
} from './replicas.js';

interface MetricsRequest {
  readonly client: Client;
  readonly namespace: string;
  /** Of the target's pods. */
  readonly selector: string;
  readonly pods: readonly Pod[];
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly times: HpaTimes;
  readonly now: number;
  /** `deployments.apps`, for metrics about an object. */
  resourceOf(apiVersion: string | undefined, kind: string): Promise<string>;
}

const query = (text: string) => (text === '' ? '' : `?labelSelector=${encodeURIComponent(text)}`);

export async function readMetric(request: MetricsRequest, metric: V2MetricSpec): Promise<MetricResult> {
  const reason = `FailedGet${metric.type}Metric`;
  try {
    return await read(request, metric);
  } catch (error) {
    return { error: messageOf(error), reason };
  }
}

async function read(request: MetricsRequest, metric: V2MetricSpec): Promise<MetricResult> {
  const { resource, containerResource, pods, object, external } = metric;
  if (resource !== undefined) {
    const measured = await resourceUsage(request, resource.name);
    const { proposal, current } = byPods(request, measured, resource.target, resource.name);
    const described = `${resource.name} resource`;
    return result(described, proposal, { type: 'Resource', resource: { name: resource.name, current } });
  }
  if (containerResource !== undefined) {
    const { name, container, target } = containerResource;
    const measured = await resourceUsage(request, name, container);
    const { proposal, current } = byPods(request, measured, target, name, container);
    const status: V2MetricStatus = {
      type: 'ContainerResource',
      containerResource: { name, container, current },
    };
    return result(`${name} container resource`, proposal, status);
  }
  if (pods !== undefined) {
    const measured = await podMetric(request, pods.metric.name, labelSelectorString(pods.metric.selector));
    const { proposal, current } = byPods(request, measured, pods.target, pods.metric.name);
    return result(`pods metric ${pods.metric.name}`, proposal, {
      type: 'Pods',
      pods: { metric: pods.metric, current },
    });
  }
  if (object !== undefined) {
    const value = await objectMetric(request, object);
    const { proposal, current } = byValue(request, value, object.target);
    const { metric: named, describedObject } = object;
    return result(`object metric ${named.name}`, proposal, {
      type: 'Object',
      object: { metric: named, describedObject, current },
    });
  }
  if (external !== undefined) {
    const value = await externalMetric(
      request,
      external.metric.name,
      labelSelectorString(external.metric.selector),
    );
    const { proposal, current } = byValue(request, value, external.target);
    return result(`external metric ${external.metric.name}`, proposal, {
      type: 'External',
      external: { metric: external.metric, current },
    });
  }
  return { error: `invalid metric source type: "${metric.type}"`, reason: 'InvalidMetricSourceType' };
}

function result(name: string, { replicas }: Proposal, status: V2MetricStatus): MetricResult {
  return { replicas, name, status };
}

function byPods(
  { pods, current, tolerances, times, now }: MetricsRequest,
  measured: ReadonlyMap<string, Measured>,
  target: V2MetricTarget,
  resource: string,
  container?: string,
) {
  const groups = groupPods(pods, measured, { resource, now, times });
  const shares = target.averageUtilization !== undefined;
  const requests = shares ? requestsOf(pods, resource, container) : undefined;
  const proposal = perPodReplicas({
    current,
    groups,
    measured,
    tolerances,
    target: shares ? (target.averageUtilization ?? 100) / 100 : milliValue(target.averageValue ?? '0'),
    ...(requests === undefined ? {} : { requests }),
  });
  if (proposal === undefined)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const average =
    groups.ready.reduce((sum, name) => sum + (measured.get(name)?.value ?? 0), 0) / groups.ready.length;
  return {
    proposal,
    current: {
      averageValue: `${Math.round(average)}m`,
      ...(shares ? { averageUtilization: Math.floor(proposal.usage * 100) } : {}),
    },
  };
}

function byValue({ current, pods, tolerances }: MetricsRequest, value: number, target: V2MetricTarget) {
  if (target.averageValue !== undefined) {
    const proposal = sharedReplicas({
      current,
      value,
      targetPerPod: milliValue(target.averageValue),
      tolerances,
    });
    return { proposal, current: { averageValue: `${Math.round(proposal.usage)}m` } };
  }
  const readyPods = pods.filter(({ status }) =>
    (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  ).length;
  const proposal = totalReplicas({
    current,
    readyPods,
    value,
    target: milliValue(target.value ?? '0'),
    tolerances,
  });
  return { proposal, current: { value: `${Math.round(value)}m` } };
}

export function requestsOf(
  pods: readonly Pod[],
  resource: string,
  only?: string,
): ReadonlyMap<string, number> {
  return new Map(
    pods.map(({ metadata, spec }) => {
      // The pod's own request stands for all of its containers.
      const ofPod = only === undefined ? spec.resources?.requests?.[resource] : undefined;
      if (ofPod !== undefined) return [metadata.name, milliValue(ofPod)];
      const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
      const containers = [...spec.containers, ...sidecars].filter(
        ({ name }) => only === undefined || name === only,
      );
      let total = 0;
      for (const { name, resources } of containers) {
        const amount = resources?.requests?.[resource];
        if (amount === undefined)
          throw new Error(`missing request for ${resource} in container ${name} of Pod ${metadata.name}`);
        total += milliValue(amount);
      }
      return [metadata.name, total];
    }),
  );
}

interface PodMetricsList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly timestamp?: string;
    readonly window?: string;
    readonly containers: readonly {
      readonly name: string;
      readonly usage: Readonly<Record<string, string>>;
    }[];
  }[];
}

async function resourceUsage(
  { client, namespace, selector, now }: MetricsRequest,
  resource: string,
  only?: string,
): Promise<ReadonlyMap<string, Measured>> {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods${query(selector)}`;
  const { items } = await client.raw<PodMetricsList>('GET', path);
  const measured = new Map<string, Measured>();
  for (const { metadata, timestamp, window, containers } of items) {
    const amounts = containers
      .filter(({ name }) => only === undefined || name === only)
      .map(({ usage }) => usage[resource]);
    // Half a pod's usage is not the pod's usage.
    if (amounts.length === 0 || amounts.includes(undefined)) continue;
    const value = amounts.reduce((sum: number, amount) => sum + milliValue(amount ?? '0'), 0);
    const windowMs = Number(/^([0-9.]+)s$/.exec(window ?? '')?.[1] ?? 30) * 1000;
    measured.set(metadata.name, { value, atMs: Date.parse(timestamp ?? '') || now, windowMs });
  }
  if (measured.size === 0) throw new Error('no metrics returned from resource metrics API');
  return measured;
}

interface MetricValueList {
  readonly items: readonly {
    readonly describedObject?: { readonly name?: string };
    readonly timestamp?: string;
    readonly windowSeconds?: number;
    readonly value: string;
  }[];
}

async function podMetric(
  { client, namespace, selector, now }: MetricsRequest,
  name: string,
  metricSelector: string,
): Promise<ReadonlyMap<string, Measured>> {
  const more = metricSelector === '' ? '' : `&metricLabelSelector=${encodeURIComponent(metricSelector)}`;
  const path = `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${namespace}/pods/*/${encodeURIComponent(name)}?labelSelector=${encodeURIComponent(selector)}${more}`;
  const { items } = await client.raw<MetricValueList>('GET', path);
  return new Map(
    items.map(({ describedObject, timestamp, windowSeconds = 60, value }) => [
      describedObject?.name ?? '',
      { value: milliValue(value), atMs: Date.parse(timestamp ?? '') || now, windowMs: windowSeconds * 1000 },
    ]),
  );
}

async function objectMetric(
  { client, namespace, resourceOf }: MetricsRequest,
  { describedObject, metric }: NonNullable<V2MetricSpec['object']>,
): Promise<number> {
  const resource = await resourceOf(describedObject.apiVersion, describedObject.kind);
  const at = `${resource}/${encodeURIComponent(describedObject.name)}/${encodeURIComponent(metric.name)}`;
  const selector = query(labelSelectorString(metric.selector)).replace(
    'labelSelector',
    'metricLabelSelector',
  );
  const path = `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${namespace}/${at}${selector}`;
  const { items } = await client.raw<MetricValueList>('GET', path);
  const [first] = items;
  if (first === undefined)
    throw new Error(`no metric ${metric.name} of ${describedObject.kind} ${describedObject.name}`);
  return milliValue(first.value);
}

async function externalMetric(
  { client, namespace }: MetricsRequest,
  name: string,
  selector: string,
): Promise<number> {
  const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${encodeURIComponent(name)}${query(selector)}`;
  const { items } = await client.raw<MetricValueList>('GET', path);
  if (items.length === 0) throw new Error(`no metrics returned from external metrics API for ${name}`);
  return items.reduce((sum, { value }) => sum + milliValue(value), 0);
}
