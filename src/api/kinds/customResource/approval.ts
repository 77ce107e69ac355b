// The groups of the Kubernetes community: whoever defines a kind in one says where that was agreed. Pure.
import { type Cause, invalidValue, required } from '../../causes.js';
import type { V1CustomResourceDefinition } from '../../gen/types.js';
import { getOwn } from '../../ownKeys.js';

const ANNOTATION = 'api-approved.kubernetes.io';
const FIELD = `metadata.annotations[${ANNOTATION}]`;
const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111';

interface Approval {
  readonly state: 'approved' | 'bypassed' | 'missing' | 'invalid';
  readonly reason: string;
}

export const isProtectedGroup = (group: string): boolean =>
  ['k8s.io', 'kubernetes.io'].some((name) => group === name || group.endsWith(`.${name}`));

export function approvalOf(annotations: Readonly<Record<string, string>> | undefined): Approval {
  const text = getOwn(annotations, ANNOTATION) ?? '';
  const must = `protected groups must have approval annotation ${JSON.stringify(ANNOTATION)}`;
  if (text === '') return { state: 'missing', reason: `${must}, ${SEE}` };
  if (text.startsWith('unapproved'))
    return { state: 'bypassed', reason: `not approved: ${JSON.stringify(text)}` };
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/\s]+\S*$/i.test(text))
    return { state: 'approved', reason: `approved in ${text}` };
  return {
    state: 'invalid',
    reason: `${must} with either a URL or a reason starting with "unapproved", ${SEE}`,
  };
}

/** An approval that was as it is before the update is not judged again. */
export function checkApproval(
  { spec, metadata }: V1CustomResourceDefinition,
  old: V1CustomResourceDefinition | undefined,
): Cause[] {
  if (!isProtectedGroup(spec.group)) return [];
  const { state, reason } = approvalOf(metadata?.annotations);
  if (old !== undefined && approvalOf(old.metadata?.annotations).state === state) return [];
  if (state === 'missing') return [required(FIELD, reason)];
  if (state === 'invalid') return [invalidValue(FIELD, getOwn(metadata?.annotations, ANNOTATION), reason)];
  return [];
}
