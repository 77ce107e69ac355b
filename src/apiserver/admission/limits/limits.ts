// The arithmetic of a LimitRange: what a container gets by default, and what breaks a minimum, a maximum or a ratio. Pure.
import type { V1Container, V1LimitRangeItem, V1PodSpec } from '../../../api/gen/types.js';
import { addQuantities, canonicalQuantity, compareQuantities, milliValue } from '../../../api/quantity.js';

type Amounts = Readonly<Record<string, string>>;

/** What one container, pod or claim asks for and is capped at. */
export interface Resources {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

export function resourcesOf(holder: {
  readonly resources?:
    | { readonly requests?: Amounts | undefined; readonly limits?: Amounts | undefined }
    | undefined;
}): Resources {
  return { requests: holder.resources?.requests ?? {}, limits: holder.resources?.limits ?? {} };
}

/** Each sentence is one broken bound. `what` is Container, Pod or PersistentVolumeClaim. */
export function brokenBounds(item: V1LimitRangeItem, resources: Resources): string[] {
  const what = item.type;
  return [
    ...each(item.min, (name, bound) => belowMinimum(name, bound, what, resources)),
    ...each(item.max, (name, bound) => aboveMaximum(name, bound, what, resources)),
    ...each(item.maxLimitRequestRatio, (name, bound) => aboveRatio(name, bound, what, resources)),
  ];
}

function belowMinimum(name: string, bound: string, what: string, { requests, limits }: Resources): string[] {
  const request = requests[name];
  const limit = limits[name];
  const start = `minimum ${name} usage per ${what} is ${shown(bound)}`;
  if (request === undefined) return [`${start}.  No request is specified`];
  if (compareQuantities(request, bound) < 0) return [`${start}, but request is ${shown(request)}`];
  return limit !== undefined && compareQuantities(limit, bound) < 0
    ? [`${start}, but limit is ${shown(limit)}`]
    : [];
}

function aboveMaximum(name: string, bound: string, what: string, { requests, limits }: Resources): string[] {
  const request = requests[name];
  const limit = limits[name];
  const start = `maximum ${name} usage per ${what} is ${shown(bound)}`;
  // A claim has no limits: what it requests is what it takes.
  if (limit === undefined && what !== 'PersistentVolumeClaim') return [`${start}.  No limit is specified`];
  if (limit !== undefined && compareQuantities(limit, bound) > 0)
    return [`${start}, but limit is ${shown(limit)}`];
  return request !== undefined && compareQuantities(request, bound) > 0
    ? [`${start}, but request is ${shown(request)}`]
    : [];
}

function aboveRatio(name: string, bound: string, what: string, { requests, limits }: Resources): string[] {
  const request = milliValue(requests[name] ?? 0);
  const limit = milliValue(limits[name] ?? 0);
  const start = `${name} max limit to request ratio per ${what} is ${shown(bound)}`;
  if (request === 0) return [`${start}, but no request is specified or request is 0`];
  if (limit === 0) return [`${start}, but no limit is specified or limit is 0`];
  const ratio = limit / request;
  return ratio > milliValue(bound) / 1000 ? [`${start}, but provided ratio is ${ratio.toFixed(6)}`] : [];
}

/** What a container lacks, by the first range that has a default for it. */
export function defaultsOf(items: readonly V1LimitRangeItem[]): Resources {
  const containers = items.filter(({ type }) => type === 'Container');
  const merged = (pick: (item: V1LimitRangeItem) => Amounts | undefined) =>
    Object.assign({}, ...[...containers].reverse().map((item) => pick(item) ?? {})) as Amounts;
  return {
    limits: merged((item) => item.default),
    requests: merged((item) => item.defaultRequest),
  };
}

export function missingOf(held: Amounts, defaults: Amounts): Record<string, string> {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => held[name] === undefined));
}

/** Containers together, or the greatest init container, whichever is more; sidecars run beside all. */
export function podResources(spec: V1PodSpec): Resources {
  const inits = spec.initContainers ?? [];
  const lasting = [...spec.containers, ...inits.filter(isSidecar)];
  const pick = (key: keyof Resources) => {
    const total: Record<string, string> = sum(lasting.map((container) => resourcesOf(container)[key]));
    for (const container of inits.filter((one) => !isSidecar(one)))
      for (const [name, amount] of Object.entries(resourcesOf(container)[key]))
        if (compareQuantities(amount, total[name] ?? 0) > 0) total[name] = amount;
    return total;
  };
  return { requests: pick('requests'), limits: pick('limits') };
}

function isSidecar({ restartPolicy }: V1Container): boolean {
  return restartPolicy === 'Always';
}

function sum(amounts: readonly Amounts[]): Record<string, string> {
  const total: Record<string, string> = {};
  for (const one of amounts)
    for (const [name, amount] of Object.entries(one)) total[name] = addQuantities(total[name] ?? '0', amount);
  return total;
}

function each(bounds: Amounts | undefined, check: (name: string, bound: string) => string[]): string[] {
  return Object.keys(bounds ?? {})
    .sort()
    .flatMap((name) => check(name, bounds?.[name] ?? '0'));
}

const shown = (amount: string): string => canonicalQuantity(amount);
