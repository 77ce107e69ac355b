// Amounts of resources outside of pods: in quotas, in the statuses of nodes and claims. Pure.
// Guarantees: none is negative; what is counted in pieces is whole.
import { type Cause, invalidValue } from '../causes.js';
import { qualifiedName } from '../names.js';
import { tryParseQuantity } from '../quantity.js';

/** Objects that quotas count by names of their own. */
export const COUNTED: readonly string[] = [
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];

/** Of Kubernetes itself, rather than of a device's maker. */
export const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

const isExtended = (name: string) =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;

export function validateAmount(name: string, amount: string, at: string): Cause[] {
  const parsed = tryParseQuantity(amount);
  if (parsed === undefined) return [invalidValue(at, amount, 'must be a quantity')];
  const causes = parsed.nanos < 0n ? [invalidValue(at, amount, 'must be greater than or equal to 0')] : [];
  const isWhole = parsed.nanos % 1_000_000_000n === 0n;
  if (!isWhole && (COUNTED.includes(name) || isExtended(name)))
    causes.push(invalidValue(at, amount, 'must be an integer'));
  return causes;
}
