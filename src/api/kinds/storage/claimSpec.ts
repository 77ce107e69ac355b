// The spec of a claim, whether it stands alone or in the template of a StatefulSet or a pod's volume. Pure.
// Guarantees: a claim asks for at least one way to mount and for some room.
import { type Cause, checkName, checkOneOf, forbiddenField, invalidValue, required } from '../../causes.js';
import type { V1PersistentVolumeClaimSpec, V1TypedObjectReference } from '../../gen/types.js';
import type { Draft } from '../../kind.js';
import { validateLabelSelector } from '../../meta.js';
import { dnsSubdomain } from '../../names.js';
import { tryParseQuantity } from '../../quantity.js';
import { VOLUME_MODES, validateAccessModes } from './accessModes.js';

export function defaultClaimSpec(spec: Draft<V1PersistentVolumeClaimSpec>): void {
  spec.volumeMode ??= 'Filesystem';
  spec.resources ??= {};
}

export function validateClaimSpec(spec: V1PersistentVolumeClaimSpec, at: string): Cause[] {
  const { accessModes = [], selector, resources, storageClassName, volumeAttributesClassName } = spec;
  const causes = [
    ...validateAccessModes(accessModes, `${at}.accessModes`, 'at least 1 access mode is required'),
    ...validateLabelSelector(selector, `${at}.selector`),
    ...validateStorage(resources?.requests?.['storage'], `${at}.resources[storage]`),
  ];
  if (storageClassName) causes.push(...checkName(`${at}.storageClassName`, storageClassName, dnsSubdomain));
  if (volumeAttributesClassName)
    causes.push(...checkName(`${at}.volumeAttributesClassName`, volumeAttributesClassName, dnsSubdomain));
  return [
    ...causes,
    ...checkOneOf(`${at}.volumeMode`, spec.volumeMode, VOLUME_MODES),
    ...validateSource(spec.dataSource, `${at}.dataSource`),
    ...validateSource(spec.dataSourceRef, `${at}.dataSourceRef`),
  ];
}

/** An amount of room, which nobody may leave out or ask nothing of. */
export function validateStorage(amount: string | undefined, at: string): Cause[] {
  if (amount === undefined) return [required(at)];
  const parsed = tryParseQuantity(amount);
  if (parsed === undefined) return [invalidValue(at, amount, 'must be a quantity')];
  return parsed.nanos > 0n ? [] : [invalidValue(at, amount, 'must be greater than zero')];
}

function validateSource(source: V1TypedObjectReference | undefined, at: string): Cause[] {
  if (source === undefined) return [];
  const causes: Cause[] = [];
  if (!source.name) causes.push(required(`${at}.name`));
  if (!source.kind) causes.push(required(`${at}.kind`));
  if (!source.apiGroup && source.kind !== 'PersistentVolumeClaim')
    causes.push(
      invalidValue(
        at,
        source.kind ?? '',
        "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
      ),
    );
  if (source.apiGroup) causes.push(...checkName(`${at}.apiGroup`, source.apiGroup, dnsSubdomain));
  if (source.namespace !== undefined && source.namespace === '')
    causes.push(forbiddenField(`${at}.namespace`, 'may not be empty'));
  return causes;
}
