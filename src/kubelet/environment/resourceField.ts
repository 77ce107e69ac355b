// The downward API's other half: a container's request or limit as a number in the unit asked for. Pure.
// Guarantees: exact arithmetic, rounded up; a limit that is not set is the pod's own, or else what the node can give.
import type { V1Container, V1ResourceFieldSelector } from '../../api/gen/types.js';
import { tryParseQuantity } from '../../api/quantity.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';

export type Resources = Readonly<Record<string, string>>;

const NANO = 10n ** 9n;

export function resourceValue(pod: Pod, selector: V1ResourceFieldSelector, allocatable: Resources): string {
  const { containerName, resource, divisor } = selector;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = all.find(({ name }) => name === containerName);
  if (container === undefined) throw refused(`container ${containerName ?? ''} not found`);
  return containerResource(pod, container, { resource, divisor }, allocatable);
}

export function containerResource(
  pod: Pod,
  container: V1Container,
  { resource, divisor }: { readonly resource: string; readonly divisor?: string | undefined },
  allocatable: Resources,
): string {
  const [list, name = ''] = splitOnce(resource);
  if (
    (list !== 'limits' && list !== 'requests') ||
    !/^(cpu|memory|ephemeral-storage|hugepages-.+)$/.test(name)
  )
    throw refused(`unsupported container resource : ${resource}`);
  const set = container.resources?.[list]?.[name];
  const whole = name === 'cpu' || name === 'memory' ? pod.spec.resources?.limits?.[name] : undefined;
  const quantity = set ?? (list === 'limits' ? (whole ?? allocatable[name]) : undefined) ?? '0';
  const value = tryParseQuantity(quantity)?.nanos;
  const unit = tryParseQuantity(divisor ?? '0')?.nanos ?? 0n;
  if (value === undefined)
    throw refused(`${resource} of container ${container.name} is no quantity: ${quantity}`);
  // cpu is counted in thousandths and all else in whole units before the division, as Kubernetes does.
  const grain = name === 'cpu' ? NANO / 1000n : NANO;
  const parts = divideUp(value, grain);
  const unitParts = unit > 0n ? divideUp(unit, grain) : NANO / grain;
  return divideUp(parts, unitParts).toString();
}

function splitOnce(resource: string): [string, string?] {
  const dot = resource.indexOf('.');
  return dot === -1 ? [resource] : [resource.slice(0, dot), resource.slice(dot + 1)];
}

function divideUp(top: bigint, bottom: bigint): bigint {
  return top > 0n ? (top + bottom - 1n) / bottom : top / bottom;
}

const refused = (message: string) => new KubeletError('CreateContainerConfigError', message);
