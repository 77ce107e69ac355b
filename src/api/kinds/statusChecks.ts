// What is checked of a status that changes: counts, and the addresses of load balancers. Pure.
// Guarantees: a status that stays as it was is never refused, however it came to be.
import {
  type Cause,
  checkName,
  checkNotNegative,
  checkOneOf,
  forbiddenField,
  invalidValue,
  required,
} from '../causes.js';
import { parseIp } from '../ip.js';
import { dnsSubdomain, ipAddress } from '../names.js';
import { sameJson } from '../ownKeys.js';

/** Of an update: the status is another than before. New objects get theirs from the server. */
export const isNewStatus = <T extends { readonly status?: unknown }>(
  object: T,
  old: T | undefined,
): boolean => old !== undefined && !sameJson(object.status ?? {}, old.status ?? {});

type Counts = Readonly<Record<string, unknown>>;

/** Counts of pods that are among the replicas. */
const AMONG = [
  'fullyLabeledReplicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
];

/** Of kinds whose status counts pods: no count is negative, none of a part beyond that of the whole. */
export function validateCounts<T extends { readonly status?: object | undefined }>(
  object: T,
  old: T | undefined,
  ready = 'readyReplicas',
): Cause[] {
  if (old === undefined || !isNewStatus(object, old)) return [];
  const status = (object.status ?? {}) as Counts;
  const count = (name: string): number => (typeof status[name] === 'number' ? (status[name] as number) : 0);
  const causes = Object.keys(status).flatMap((name) => checkNotNegative(`status.${name}`, count(name)));
  const isBeyond = (part: string, whole: string) => status[whole] !== undefined && count(part) > count(whole);
  for (const name of AMONG)
    if (isBeyond(name, 'replicas'))
      causes.push(invalidValue(`status.${name}`, count(name), 'cannot be greater than status.replicas'));
  if (count('availableReplicas') > count('readyReplicas'))
    causes.push(
      invalidValue('status.availableReplicas', count('availableReplicas'), `cannot be greater than ${ready}`),
    );
  const before = ((old.status ?? {}) as Counts)['collisionCount'];
  if (typeof before === 'number' && count('collisionCount') < before)
    causes.push(invalidValue('status.collisionCount', count('collisionCount'), 'cannot be decremented'));
  return causes;
}

interface Balanced {
  readonly ip?: string | undefined;
  readonly ipMode?: string | undefined;
  readonly hostname?: string | undefined;
}

/** Where a load balancer says that it can be reached. Only Services have modes. */
export function validateIngresses(
  ingress: readonly Balanced[],
  { hasModes }: { readonly hasModes: boolean },
): Cause[] {
  return ingress.flatMap(({ ip, ipMode, hostname }, index) => {
    const at = `status.loadBalancer.ingress[${index}]`;
    const causes = ip ? checkName(`${at}.ip`, ip, ipAddress) : [];
    if (hasModes && ip && ipMode === undefined)
      causes.push(required(`${at}.ipMode`, 'must be specified when `ip` is set'));
    else if (hasModes && !ip && ipMode !== undefined)
      causes.push(forbiddenField(`${at}.ipMode`, 'may not be specified when `ip` is not set'));
    else if (hasModes) causes.push(...checkOneOf(`${at}.ipMode`, ipMode, ['Proxy', 'VIP']));
    if (hostname) causes.push(...checkName(`${at}.hostname`, hostname, dnsSubdomain));
    if (hostname && parseIp(hostname) !== undefined)
      causes.push(invalidValue(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address'));
    return causes;
  });
}
