// What is checked of a node's status: what it has, where it is reached, what it says it can do. Pure.
// Guarantees: amounts are amounts; no address and no feature is told twice.
import { type Cause, duplicate, invalidValue } from '../causes.js';
import type { V1NodeStatus } from '../gen/types.js';
import { validateAmount } from './amounts.js';

const MAX_FEATURE = 253;
const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

/** A status that comes with a new node. */
export function validateFirstStatus(status: V1NodeStatus): Cause[] {
  const swap = status.nodeInfo?.swap?.capacity;
  return [
    ...validateHeld(status),
    // Under the metadata, oddly: there the stock server tells it.
    ...(swap !== undefined && swap <= 0
      ? [invalidValue('metadata.nodeSwapStatus.capacity', swap, 'must be greater than zero')]
      : []),
  ];
}

/** A status that is another than before. */
export function validateNextStatus(status: V1NodeStatus): Cause[] {
  const seen = new Set<string>();
  const twice = (status.addresses ?? []).flatMap(({ type, address }, index) => {
    const identity = JSON.stringify([type, address]);
    if (seen.has(identity)) return [duplicate(`status.addresses[${index}]`, { type, address })];
    seen.add(identity);
    return [];
  });
  return [...validateHeld(status), ...twice];
}

function validateHeld({ capacity, allocatable, declaredFeatures = [] }: V1NodeStatus): Cause[] {
  const amounts = Object.entries({ capacity, allocatable }).flatMap(([list, held = {}]) =>
    Object.entries(held).flatMap(([name, amount]) => validateAmount(name, amount, `status.${list}.${name}`)),
  );
  return [
    ...amounts,
    ...declaredFeatures.flatMap((feature, index) =>
      validateFeature(feature, declaredFeatures[index - 1], `status.declaredFeatures[${index}]`),
    ),
  ];
}

function validateFeature(feature: string, before: string | undefined, at: string): Cause[] {
  const causes: Cause[] = [];
  if (before === feature) causes.push(duplicate(at, feature));
  else if (before !== undefined && before > feature)
    causes.push(invalidValue(at, feature, 'list must be sorted alphabetically'));
  const fault =
    feature.length > MAX_FEATURE
      ? `must be no more than ${MAX_FEATURE} characters`
      : "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
  if (feature.length > MAX_FEATURE || !FEATURE.test(feature))
    causes.push(invalidValue(at, feature, `invalid feature name ${JSON.stringify(feature)}: ${fault}`));
  return causes;
}
