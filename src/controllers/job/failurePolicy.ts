// What a Job's failure and success policies make of its pods. Pure.
// Guarantees: the first rule that matches decides; a failure that no rule matches is counted.
import type {
  V1ContainerStatus,
  V1PodFailurePolicyOnExitCodesRequirement,
  V1PodFailurePolicyRule,
  V1SuccessPolicy,
} from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import type { Pod } from '../pods.js';
import { parseIndexes } from './indexes.js';
import type { Job } from './pods.js';

type FailureVerdict =
  | { readonly action: 'Count' | 'Ignore' | 'FailIndex' }
  | { readonly action: 'FailJob'; readonly message: string };

export function judgeFailure({ spec }: Job, pod: Pod): FailureVerdict {
  if (pod.status?.phase !== 'Failed') return { action: 'Count' };
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchOf(rule, pod);
    if (why === undefined) continue;
    if (rule.action === 'FailJob')
      return { action: 'FailJob', message: `${why} matching FailJob rule at index ${index}` };
    if (rule.action === 'Ignore' || rule.action === 'FailIndex') return { action: rule.action };
    return { action: 'Count' };
  }
  return { action: 'Count' };
}

function matchOf(
  { onExitCodes, onPodConditions = [] }: V1PodFailurePolicyRule,
  pod: Pod,
): string | undefined {
  const name = keyOf(pod.metadata);
  if (onExitCodes !== undefined) {
    const found = containersOf(pod).find((status) => matchesExit(onExitCodes, status));
    if (found === undefined) return undefined;
    const code = found.state?.terminated?.exitCode ?? 0;
    return `Container ${found.name} for pod ${name} failed with exit code ${code}`;
  }
  const found = onPodConditions.find(({ type, status = 'True' }) =>
    (pod.status?.conditions ?? []).some(
      (condition) => condition.type === type && condition.status === status,
    ),
  );
  return found === undefined ? undefined : `Pod ${name} has condition ${found.type}`;
}

function containersOf({ status }: Pod): readonly V1ContainerStatus[] {
  return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
}

function matchesExit(
  { containerName, operator, values }: V1PodFailurePolicyOnExitCodesRequirement,
  { name, state }: V1ContainerStatus,
): boolean {
  const code = state?.terminated?.exitCode ?? 0;
  if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
  return operator === 'In' ? values.includes(code) : operator === 'NotIn' && !values.includes(code);
}

/** The message of the first rule that is met; undefined when none is. */
export function metSuccessRule(
  policy: V1SuccessPolicy | undefined,
  succeeded: ReadonlySet<number>,
  completions: number,
): string | undefined {
  for (const [index, { succeededIndexes, succeededCount }] of (policy?.rules ?? []).entries()) {
    const wanted = succeededIndexes === undefined ? undefined : parseIndexes(succeededIndexes, completions);
    const met =
      wanted === undefined ? succeeded.size : [...wanted].filter((each) => succeeded.has(each)).length;
    if (met >= (succeededCount ?? wanted?.size ?? Infinity)) return `Matched rules at index ${index}`;
  }
  return undefined;
}
