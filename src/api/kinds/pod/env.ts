// Checks of a container's environment. Pure.
// Guarantees: every variable has a name and at most one source, which says where to look.
import {
  type Cause,
  checkName,
  checkRequiredName,
  invalidValue,
  notFoundValue,
  notSupported,
  required,
} from '../../causes.js';
import type {
  V1Container,
  V1EnvFromSource,
  V1EnvVar,
  V1FileKeySelector,
  V1ObjectFieldSelector,
  V1ResourceFieldSelector,
  V1Volume,
} from '../../gen/types.js';
import { configKey, dnsSubdomain, envName } from '../../names.js';
import { validateInside } from './volumes.js';

const FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** One label or annotation: metadata.labels['key']. */
const SUBSCRIPTED = /^metadata\.(labels|annotations)\['([^']+)'\]$/;
const AMOUNTS = ['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [
  `limits.${name}`,
  `requests.${name}`,
]);

export function validateEnv({ name, value, valueFrom }: V1EnvVar, at: string): Cause[] {
  const causes = checkRequiredName(`${at}.name`, name, envName);
  if (valueFrom === undefined) return causes;
  const here = `${at}.valueFrom`;
  const sources = Object.values(valueFrom).filter((source) => source !== undefined).length;
  if (sources === 0)
    causes.push(
      invalidValue(
        here,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ),
    );
  else if (value) causes.push(invalidValue(here, '', 'may not be specified when `value` is not empty'));
  else if (sources > 1)
    causes.push(invalidValue(here, '', 'may not have more than one field specified at a time'));
  for (const ref of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const selector = valueFrom[ref];
    if (selector === undefined) continue;
    if (!selector.key) causes.push(required(`${here}.${ref}.key`));
    else causes.push(...checkName(`${here}.${ref}.key`, selector.key, configKey));
  }
  if (valueFrom.fieldRef !== undefined) causes.push(...validateField(valueFrom.fieldRef, `${here}.fieldRef`));
  if (valueFrom.resourceFieldRef !== undefined)
    causes.push(...validateAmount(valueFrom.resourceFieldRef, `${here}.resourceFieldRef`));
  if (valueFrom.fileKeyRef !== undefined)
    causes.push(...validateFileKey(valueFrom.fileKeyRef, `${here}.fileKeyRef`));
  return causes;
}

function validateFileKey({ key, path, volumeName }: V1FileKeySelector, at: string): Cause[] {
  return [
    ...checkRequiredName(`${at}.key`, key, envName),
    ...(volumeName ? [] : [required(`${at}.volumeName`)]),
    ...(path ? validateInside(path, `${at}.path`) : [required(`${at}.path`)]),
  ];
}

/** The file lies in a volume that containers of the pod write. */
export function validateFileKeys(
  { env = [] }: V1Container,
  at: string,
  volumes: readonly V1Volume[],
): Cause[] {
  return env.flatMap(({ valueFrom }, index) => {
    const name = valueFrom?.fileKeyRef?.volumeName;
    if (!name) return [];
    const field = `${at}.env[${index}].valueFrom.fileKeyRef.volumeName`;
    const volume = volumes.find((one) => one.name === name);
    if (volume === undefined) return [notFoundValue(field, name)];
    return volume.emptyDir === undefined
      ? [invalidValue(field, name, 'referenced volume must be of type emptyDir')]
      : [];
  });
}

function validateField({ fieldPath }: V1ObjectFieldSelector, at: string): Cause[] {
  if (!fieldPath) return [required(`${at}.fieldPath`)];
  if (FIELDS.includes(fieldPath) || SUBSCRIPTED.test(fieldPath)) return [];
  // Whole maps fit into files only.
  if (fieldPath === 'metadata.labels' || fieldPath === 'metadata.annotations')
    return [notSupported(`${at}.fieldPath`, fieldPath, FIELDS)];
  return [
    invalidValue(
      `${at}.fieldPath`,
      fieldPath,
      `error converting fieldPath: field label not supported: ${fieldPath}`,
    ),
  ];
}

function validateAmount({ resource }: V1ResourceFieldSelector, at: string): Cause[] {
  if (!resource) return [required(`${at}.resource`)];
  const isKnown = AMOUNTS.includes(resource) || /^(limits|requests)\.hugepages-/.test(resource);
  return isKnown ? [] : [notSupported(`${at}.resource`, resource, AMOUNTS)];
}

export function validateEnvFrom({ prefix, configMapRef, secretRef }: V1EnvFromSource, at: string): Cause[] {
  const causes: Cause[] = prefix ? checkName(`${at}.prefix`, prefix, envName) : [];
  for (const [field, ref] of Object.entries({ configMapRef, secretRef }))
    if (ref !== undefined) causes.push(...checkRequiredName(`${at}.${field}.name`, ref.name, dnsSubdomain));
  if (configMapRef === undefined && secretRef === undefined)
    causes.push(invalidValue(at, '', 'must specify one of: `configMapRef` or `secretRef`'));
  else if (configMapRef !== undefined && secretRef !== undefined)
    causes.push(invalidValue(at, '', 'may not have more than one field specified at a time'));
  return causes;
}
