// What is checked of a claim's status: how much it has, and how far a growth has come. Pure.
// Guarantees: amounts are not negative; of Kubernetes' own resources only storage is told of.
import { type Cause, checkName, invalidValue, notSupported } from '../../causes.js';
import type { V1PersistentVolumeClaimStatus } from '../../gen/types.js';
import { qualifiedName } from '../../names.js';
import { integerValue, tryParseQuantity } from '../../quantity.js';
import { isNative, validateAmount } from '../amounts.js';

const GROWTHS = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
];

/** A status that is another than before. */
export function validateClaimStatus(status: V1PersistentVolumeClaimStatus): Cause[] {
  const { capacity = {}, allocatedResourceStatuses = {}, allocatedResources = {} } = status;
  return [
    ...Object.entries(capacity).flatMap(([name, amount]) => validateRoom(amount, `status.capacity[${name}]`)),
    ...Object.entries(allocatedResourceStatuses).flatMap(([name, growth]) => {
      const at = 'status.allocatedResourceStatuses';
      const causes = validateKey(name, at);
      // The stock server shows the resource rather than the word that it does not know.
      return GROWTHS.includes(growth) ? causes : [...causes, notSupported(at, name, GROWTHS)];
    }),
    ...Object.entries(allocatedResources).flatMap(([name, amount]) => {
      const faults = validateKey(name, 'status.allocatedResources');
      if (faults.length > 0) return faults;
      const at = `status.allocatedResources[${name}]`;
      const causes = validateRoom(amount, at);
      return causes.length > 0 ? causes : validateAmount('storage', amount, at);
    }),
  ];
}

function validateRoom(amount: string, at: string): Cause[] {
  if (tryParseQuantity(amount) === undefined) return [invalidValue(at, amount, 'must be a quantity')];
  const value = integerValue(amount);
  return value < 0 ? [invalidValue(at, value, 'must be a valid resource quantity')] : [];
}

function validateKey(name: string, at: string): Cause[] {
  const causes = checkName(at, name, qualifiedName);
  if (causes.length > 0 || name === 'storage' || !isNative(name)) return causes;
  return [notSupported(at, name, ['storage'])];
}
