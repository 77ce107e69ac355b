// Checks of where a pod may or should run: affinity to nodes and pods, and even spread. Pure.
// Guarantees: every term names keys that can exist, with operators and weights that mean something.
import {
  type Cause,
  checkName,
  checkOneOf,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from '../../causes.js';
import type {
  V1Affinity,
  V1NodeSelector,
  V1NodeSelectorRequirement,
  V1NodeSelectorTerm,
  V1PodAffinityTerm,
  V1TopologySpreadConstraint,
  V1WeightedPodAffinityTerm,
} from '../../gen/types.js';
import { validateLabelSelector } from '../../meta.js';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../../names.js';

const NODE_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];
const UNSATISFIABLE = ['DoNotSchedule', 'ScheduleAnyway'];

export function validateAffinity(affinity: V1Affinity | undefined, at: string): Cause[] {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {};
  const strict = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const soft = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...(strict === undefined
      ? []
      : validateNodeSelector(strict, `${at}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`)),
    ...soft.flatMap(({ weight, preference }, index) => {
      const here = `${at}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      return [...validateWeight(weight, here), ...validateNodeTerm(preference ?? {}, `${here}.preference`)];
    }),
    ...validatePodAffinity(podAffinity, `${at}.podAffinity`),
    ...validatePodAffinity(podAntiAffinity, `${at}.podAntiAffinity`),
  ];
}

/** Also of a PersistentVolume's nodes. */
export function validateNodeSelector({ nodeSelectorTerms = [] }: V1NodeSelector, at: string): Cause[] {
  if (nodeSelectorTerms.length === 0)
    return [required(`${at}.nodeSelectorTerms`, 'must have at least one node selector term')];
  return nodeSelectorTerms.flatMap((term, index) =>
    validateNodeTerm(term, `${at}.nodeSelectorTerms[${index}]`),
  );
}

function validateNodeTerm(
  { matchExpressions = [], matchFields = [] }: V1NodeSelectorTerm,
  at: string,
): Cause[] {
  return [
    ...matchExpressions.flatMap((requirement, index) =>
      validateNodeRequirement(requirement, `${at}.matchExpressions[${index}]`),
    ),
    ...matchFields.flatMap((requirement, index) =>
      validateFieldRequirement(requirement, `${at}.matchFields[${index}]`),
    ),
  ];
}

function validateNodeRequirement(
  { key, operator, values = [] }: V1NodeSelectorRequirement,
  at: string,
): Cause[] {
  const causes: Cause[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      causes.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      causes.push(
        forbiddenField(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1)
      causes.push(required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else causes.push(invalidValue(`${at}.operator`, operator ?? '', 'not a valid selector operator'));
  causes.push(...checkName(`${at}.key`, key ?? '', qualifiedName));
  if (!NODE_OPERATORS.includes(operator)) return causes;
  for (const [index, value] of values.entries())
    causes.push(...checkName(`${at}.values[${index}]`, value, labelValue));
  return causes;
}

function validateFieldRequirement(
  { key, operator, values = [] }: V1NodeSelectorRequirement,
  at: string,
): Cause[] {
  const causes: Cause[] = [];
  if (operator !== 'In' && operator !== 'NotIn')
    causes.push(invalidValue(`${at}.operator`, operator ?? '', 'not a valid selector operator'));
  else if (values.length !== 1)
    causes.push(
      required(
        `${at}.values`,
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    );
  if (key !== 'metadata.name')
    return [...causes, invalidValue(`${at}.key`, key ?? '', 'not a valid field selector key')];
  for (const [index, value] of values.entries())
    causes.push(...checkName(`${at}.values[${index}]`, value, dnsSubdomain));
  return causes;
}

function validateWeight(weight: number | undefined, at: string): Cause[] {
  return weight !== undefined && weight >= 1 && weight <= 100
    ? []
    : [invalidValue(`${at}.weight`, weight ?? 0, 'must be in the range 1-100')];
}

interface PodTerms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly V1PodAffinityTerm[] | undefined;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly V1WeightedPodAffinityTerm[] | undefined;
}

function validatePodAffinity(terms: PodTerms | undefined, at: string): Cause[] {
  const strict = terms?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const soft = terms?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...strict.flatMap((term, index) =>
      validatePodTerm(term, `${at}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`),
    ),
    ...soft.flatMap(({ weight, podAffinityTerm }, index) => {
      const here = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      return [
        ...validateWeight(weight, here),
        ...validatePodTerm(podAffinityTerm ?? { topologyKey: '' }, `${here}.podAffinityTerm`),
      ];
    }),
  ];
}

function validatePodTerm(term: V1PodAffinityTerm, at: string): Cause[] {
  const { labelSelector, namespaceSelector, namespaces = [], topologyKey } = term;
  const causes = [
    ...validateLabelSelector(labelSelector, `${at}.labelSelector`),
    ...validateLabelSelector(namespaceSelector, `${at}.namespaceSelector`),
    ...namespaces.flatMap((name) => checkName(`${at}.namespace`, name, dnsLabel)),
    ...validateLabelKeys(term, at),
  ];
  if (!topologyKey) return [...causes, required(`${at}.topologyKey`, 'can not be empty')];
  return [...causes, ...checkName(`${at}.topologyKey`, topologyKey, qualifiedName)];
}

interface KeyedSelector {
  readonly labelSelector?: V1PodAffinityTerm['labelSelector'];
  readonly matchLabelKeys?: readonly string[] | undefined;
  readonly mismatchLabelKeys?: readonly string[] | undefined;
}

/** Keys whose values the new pod's own labels give. */
function validateLabelKeys(
  { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: KeyedSelector,
  at: string,
) {
  const lists = { matchLabelKeys, mismatchLabelKeys };
  const mismatching = new Set(mismatchLabelKeys);
  return Object.entries(lists).flatMap(([field, keys]) => {
    if (keys.length > 0 && labelSelector === undefined)
      return [forbiddenField(`${at}.${field}`, 'must not be specified when labelSelector is not set')];
    return keys.flatMap((key, index) => {
      const here = `${at}.${field}[${index}]`;
      const isBoth = field === 'matchLabelKeys' && mismatching.has(key);
      return [
        ...checkName(here, key, qualifiedName),
        ...(isBoth ? [invalidValue(here, key, 'exists in both matchLabelKeys and mismatchLabelKeys')] : []),
      ];
    });
  });
}

export function validateSpread(constraints: readonly V1TopologySpreadConstraint[], at: string): Cause[] {
  const seen = new Set<string>();
  return constraints.flatMap((constraint, index) => {
    const here = `${at}[${index}]`;
    const { maxSkew = 0, topologyKey, whenUnsatisfiable = '', minDomains } = constraint;
    const causes: Cause[] =
      maxSkew > 0 ? [] : [invalidValue(`${here}.maxSkew`, maxSkew, 'must be greater than zero')];
    if (!topologyKey) causes.push(required(`${here}.topologyKey`, 'can not be empty'));
    else causes.push(...checkName(`${here}.topologyKey`, topologyKey, qualifiedName));
    if (!UNSATISFIABLE.includes(whenUnsatisfiable))
      causes.push(notSupported(`${here}.whenUnsatisfiable`, whenUnsatisfiable, UNSATISFIABLE));
    const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (seen.has(pair)) causes.push(duplicate(`${here}.{topologyKey, whenUnsatisfiable}`, pair));
    seen.add(pair);
    if (minDomains !== undefined && minDomains <= 0)
      causes.push(invalidValue(`${here}.minDomains`, minDomains, 'must be greater than zero'));
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule')
      causes.push(
        invalidValue(
          `${here}.minDomains`,
          minDomains,
          `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
        ),
      );
    return [
      ...causes,
      ...checkOneOf(`${here}.nodeAffinityPolicy`, constraint.nodeAffinityPolicy, ['Honor', 'Ignore']),
      ...checkOneOf(`${here}.nodeTaintsPolicy`, constraint.nodeTaintsPolicy, ['Honor', 'Ignore']),
      ...validateLabelKeys(constraint, here),
      ...validateLabelSelector(constraint.labelSelector, `${here}.labelSelector`),
    ];
  });
}
