// What is checked of every object's metadata, whatever its kind. Pure.
// Guarantees: names, labels, annotations, owners and finalizers obey Kubernetes' rules, faults in its words.
import { byteLength } from './byteLength.js';
import {
  type Cause,
  type Causes,
  checkName,
  firstCauses,
  forbiddenField,
  IMMUTABLE,
  invalidValue,
  required,
  tooLong,
} from './causes.js';
import type { V1LabelSelector, V1ObjectMeta, V1OwnerReference } from './gen/types.js';
import type { KindDefinition } from './kind.js';
import {
  canonicalAddress,
  dnsLabel,
  dnsSubdomain,
  labelValue,
  type NameCheck,
  pathSegment,
  qualifiedName,
} from './names.js';
import type { KubeObject } from './object.js';

const NAME_RULES: Readonly<Record<KindDefinition['nameRule'], NameCheck>> = {
  dnsSubdomain,
  dnsLabel,
  pathSegment,
  ipAddress: canonicalAddress,
};
const MAX_ANNOTATIONS = 256 * 1024;
/** With its kind and namespace a name is a key of the store, and LMDB's are at most some 2,000 bytes. */
const MAX_NAME_BYTES = 1500;

/** The first of what can be wrong with an object: its metadata, then what its kind says. `old` on updates. */
export function validateObject<T extends KubeObject>(kind: KindDefinition<T>, object: T, old?: T): Causes {
  const metadata = object.metadata ?? {};
  return firstCauses(() => [
    ...validateMeta(metadata, { nameRule: kind.nameRule, namespaced: kind.type.namespaced }),
    ...(old === undefined ? [] : validateMetaUpdate(metadata, old.metadata ?? {})),
    ...(kind.validate?.(object, old) ?? []),
  ]);
}

interface MetaRules {
  readonly nameRule: KindDefinition['nameRule'];
  readonly namespaced: boolean;
}

export function validateMeta(metadata: V1ObjectMeta, { nameRule, namespaced }: MetaRules): Cause[] {
  const { name = '', generateName = '', namespace = '', labels, annotations } = metadata;
  const rule = NAME_RULES[nameRule];
  const causes: Cause[] = [];
  // A generated name gets letters after its dash, so the dash at the end is no fault.
  if (generateName !== '')
    causes.push(
      ...rule(generateName.replace(/-$/, 'a')).map((why) =>
        invalidValue('metadata.generateName', generateName, why),
      ),
    );
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'));
  else if (byteLength(name) > MAX_NAME_BYTES) causes.push(tooLong('metadata.name', MAX_NAME_BYTES));
  else causes.push(...checkName('metadata.name', name, rule));
  if (!namespaced && namespace !== '')
    causes.push(forbiddenField('metadata.namespace', 'not allowed on this type'));
  else if (namespaced && namespace === '') causes.push(required('metadata.namespace'));
  else if (namespaced) causes.push(...checkName('metadata.namespace', namespace, dnsLabel));
  return [
    ...causes,
    ...validateLabels(labels, 'metadata.labels'),
    ...validateAnnotations(annotations, 'metadata.annotations'),
    ...validateOwners(metadata.ownerReferences ?? []),
    ...(metadata.finalizers ?? []).flatMap((finalizer, index) =>
      checkName(`metadata.finalizers[${index}]`, finalizer, qualifiedName),
    ),
  ];
}

export function validateMetaUpdate(metadata: V1ObjectMeta, old: V1ObjectMeta): Cause[] {
  const fixed = ['name', 'namespace', 'uid', 'creationTimestamp'] as const;
  const causes = fixed
    .filter((field) => (metadata[field] ?? '') !== (old[field] ?? ''))
    .map((field) => invalidValue(`metadata.${field}`, metadata[field], IMMUTABLE));
  const before = new Set(old.finalizers);
  const added = (metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (old.deletionTimestamp !== undefined && added.length > 0)
    causes.push(
      forbiddenField(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(', ')}}`,
      ),
    );
  return causes;
}

export function validateLabels(labels: Readonly<Record<string, string>> | undefined, field: string): Cause[] {
  const causes: Cause[] = [];
  const held = labels ?? {};
  for (const key of Object.keys(held))
    causes.push(...checkName(field, key, qualifiedName), ...checkName(field, held[key] ?? '', labelValue));
  return causes;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  field: string,
): Cause[] {
  const entries = Object.entries(annotations ?? {});
  // Annotation keys may have upper case in their prefix, unlike labels.
  const causes = entries.flatMap(([key]) =>
    qualifiedName(key.toLowerCase()).map((why) => invalidValue(field, key, why)),
  );
  const size = entries.reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  return size > MAX_ANNOTATIONS ? [...causes, tooLong(field, MAX_ANNOTATIONS)] : causes;
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

export function validateLabelSelector(selector: V1LabelSelector | undefined, field: string): Cause[] {
  const expressions = selector?.matchExpressions ?? [];
  return [
    ...validateLabels(selector?.matchLabels, `${field}.matchLabels`),
    ...expressions.flatMap(({ key, operator, values = [] }, index) => {
      const at = `${field}.matchExpressions[${index}]`;
      const causes = checkName(`${at}.key`, key ?? '', qualifiedName);
      const wantsValues = operator === 'In' || operator === 'NotIn';
      if (!OPERATORS.includes(operator))
        causes.push(invalidValue(`${at}.operator`, operator, 'not a valid selector operator'));
      else if (wantsValues && values.length === 0)
        causes.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      else if (!wantsValues && values.length > 0)
        causes.push(
          forbiddenField(
            `${at}.values`,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
          ),
        );
      return [...causes, ...values.flatMap((value, i) => checkName(`${at}.values[${i}]`, value, labelValue))];
    }),
  ];
}

function validateOwners(owners: readonly V1OwnerReference[]): Cause[] {
  const causes = owners.flatMap((owner, index) => {
    const field = (name: string) => `metadata.ownerReferences[${index}].${name}`;
    const empty = (['kind', 'name', 'uid'] as const)
      .filter((name) => !owner[name])
      .map((name) => invalidValue(field(name), '', 'must not be empty'));
    return owner.apiVersion
      ? empty
      : [invalidValue(field('apiVersion'), '', 'version must not be empty'), ...empty];
  });
  const controllers = owners.filter((owner) => owner.controller === true);
  const [first, second] = controllers;
  if (first !== undefined && second !== undefined)
    causes.push(
      invalidValue(
        'metadata.ownerReferences',
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`,
      ),
    );
  return causes;
}
