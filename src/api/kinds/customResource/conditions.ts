// What a definition's status says: its names, whether it is served, and whether it is going. Pure.
// Guarantees: a status that is as it should be stays as it is, also its times; once established, a definition stays so.
import type {
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionCondition,
  V1CustomResourceDefinitionStatus,
} from '../../gen/types.js';
import { checkStructural } from '../../structural/structure.js';
import { approvalOf, isProtectedGroup } from './approval.js';
import { webhookBundleFault } from './conversion.js';
import { acceptNames } from './names.js';

type Condition = V1CustomResourceDefinitionCondition;
type Definition = V1CustomResourceDefinition;

export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

const conditionOf = ({ status }: Definition, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

export const isTrue = (definition: Definition, type: string): boolean =>
  conditionOf(definition, type)?.status === 'True';

export interface Judged {
  /** What is said of schemas that are not structural; undefined when they are. */
  readonly structure: Omit<Condition, 'lastTransitionTime'> | undefined;
  readonly time: string;
}

/** The status that the definition should have among the others. */
export function wantedStatus(
  definition: Definition,
  others: readonly Definition[],
  { structure, time }: Judged,
): V1CustomResourceDefinitionStatus {
  const { accepted, conflict } = acceptNames(definition, others);
  const isEstablished = isTrue(definition, 'Established');
  let conditions = definition.status?.conditions ?? [];
  const set = (condition: Omit<Condition, 'lastTransitionTime'>) => {
    conditions = withCondition(conditions, condition, time);
  };
  set({
    type: 'NamesAccepted',
    status: conflict === undefined ? 'True' : 'False',
    reason: conflict?.reason ?? 'NoConflicts',
    message: conflict?.message ?? 'no conflicts found',
  });
  if (!isEstablished) set(conflict === undefined ? established(definition) : NOT_ACCEPTED);
  const approval = approvalCondition(definition);
  if (approval !== undefined) set(approval);
  if (structure !== undefined) set(structure);
  else conditions = conditions.filter(({ type }) => type !== 'NonStructuralSchema');
  return {
    ...definition.status,
    acceptedNames: accepted,
    conditions,
    storedVersions: storedVersions(definition),
  };
}

const ESTABLISHED = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
};

const INVALID_BUNDLE = {
  type: 'Established',
  status: 'False',
  reason: 'InvalidCABundle',
  message: 'The conversion webhook CABundle is invalid',
};

const established = ({ spec }: Definition) =>
  webhookBundleFault(spec.conversion) === undefined ? ESTABLISHED : INVALID_BUNDLE;

const NOT_ACCEPTED = {
  type: 'Established',
  status: 'False',
  reason: 'NotAccepted',
  message: 'not all names are accepted',
};

/** The list with that condition in its place; the time changes only with the status. */
export function withCondition(
  conditions: readonly Condition[],
  wanted: Omit<Condition, 'lastTransitionTime'>,
  time: string,
): readonly Condition[] {
  const held = conditions.find(({ type }) => type === wanted.type);
  const lastTransitionTime = held?.status === wanted.status ? held.lastTransitionTime : time;
  const made: Condition = { lastTransitionTime, ...wanted };
  return held === undefined
    ? [...conditions, made]
    : conditions.map((condition) => (condition === held ? { ...held, ...made } : condition));
}

/** The versions in which objects may be stored: the storage version is always one of them. */
export function storedVersions({ spec, status }: Definition): readonly string[] {
  const held = status?.storedVersions ?? [];
  const storage = spec.versions.find((version) => version.storage)?.name;
  return storage === undefined || held.includes(storage) ? held : [...held, storage];
}

function approvalCondition({ spec, metadata }: Definition) {
  if (!isProtectedGroup(spec.group)) return undefined;
  const { state, reason } = approvalOf(metadata?.annotations);
  const reasons = {
    approved: 'ApprovedAnnotation',
    bypassed: 'UnapprovedAnnotation',
    missing: 'MissingAnnotation',
    invalid: 'InvalidAnnotation',
  };
  return {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: state === 'approved' ? 'True' : 'False',
    reason: reasons[state],
    message: reason,
  };
}

/** Only definitions that an older server let in can have such a schema. */
export function structureCondition({ spec }: Definition): Judged['structure'] {
  const faults = spec.versions.flatMap(({ schema }, index) =>
    schema?.openAPIV3Schema === undefined
      ? []
      : checkStructural(schema.openAPIV3Schema, `spec.versions[${index}].schema.openAPIV3Schema`),
  );
  if (faults.length === 0) return undefined;
  const list = faults.map(({ field, message }) => `${field}: ${message}`);
  const message = list.length === 1 ? (list[0] ?? '') : `[${list.join(', ')}]`;
  return { type: 'NonStructuralSchema', status: 'True', reason: 'Violations', message };
}
