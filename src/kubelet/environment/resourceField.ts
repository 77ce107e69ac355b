// The downward API's other half: a container's request or limit as a number in the unit asked for. Pure.
// Guarantees: exact arithmetic, rounded up; a limit that is not set is what the node can give.
import type { V1Container, V1ResourceFieldSelector } from '../../api/gen/types.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';

export type Resources = Readonly<Record<string, string>>;

const SUFFIX: Readonly<Record<string, readonly [base: bigint, exponent: number]>> = {
  n: [10n, -9],
  u: [10n, -6],
  m: [10n, -3],
  '': [10n, 0],
  k: [10n, 3],
  M: [10n, 6],
  G: [10n, 9],
  T: [10n, 12],
  P: [10n, 15],
  E: [10n, 18],
  Ki: [2n, 10],
  Mi: [2n, 20],
  Gi: [2n, 30],
  Ti: [2n, 40],
  Pi: [2n, 50],
  Ei: [2n, 60],
};
const QUANTITY = /^([+-]?)(\d{0,24})(?:\.(\d{0,24}))?(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$/;
const NANO = 10n ** 9n;

/** A quantity in thousand-millionths, which is as fine as Kubernetes keeps it. Undefined when it is no quantity. */
export function nanosOf(quantity: string): bigint | undefined {
  const match = QUANTITY.exec(quantity);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', power, suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const [base, exponent] = power === undefined ? (SUFFIX[suffix] ?? [10n, 0]) : [10n, Number(power)];
  const scale = base ** BigInt(Math.abs(exponent));
  const top = BigInt(whole + fraction) * NANO * (exponent > 0 ? scale : 1n);
  const nanos = divideUp(top, 10n ** BigInt(fraction.length) * (exponent < 0 ? scale : 1n));
  return sign === '-' ? -nanos : nanos;
}

export function resourceValue(pod: Pod, selector: V1ResourceFieldSelector, allocatable: Resources): string {
  const { containerName, resource, divisor } = selector;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = all.find(({ name }) => name === containerName);
  if (container === undefined) throw refused(`container ${containerName ?? ''} not found`);
  return containerResource(container, { resource, divisor }, allocatable);
}

export function containerResource(
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
  const quantity = set ?? (list === 'limits' ? allocatable[name] : undefined) ?? '0';
  const value = nanosOf(quantity);
  const unit = nanosOf(divisor ?? '0') ?? 0n;
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
