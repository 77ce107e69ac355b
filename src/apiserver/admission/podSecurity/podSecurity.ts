// PodSecurity: a namespace's labels say which level of the pod security standards its pods must meet.
// Guarantees: only pods are refused; the audit log says by which level they were judged; what would make pods that are refused is warned of; a namespace that gets stricter names the pods that break it.
import type { V1Pod, V1PodSpec } from '../../../api/gen/types.js';
import type { KubeObject } from '../../../api/object.js';
import { NAMESPACES, PODS } from '../../../api/resources.js';
import { forbidden, invalid } from '../../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../../admission.js';
import type { AdmissionLookups } from '../lookups.js';
import { isAbout } from '../requests.js';
import {
  isStricter,
  type LevelVersion,
  labelFaults,
  listed,
  named,
  type PodLike,
  PREFIX,
  policyOf,
  shown,
  violations,
} from './levels.js';

/** Kinds that hold a pod template, and where. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  '/podtemplates': ['template'],
  '/replicationcontrollers': ['spec', 'template'],
  'apps/daemonsets': ['spec', 'template'],
  'apps/deployments': ['spec', 'template'],
  'apps/replicasets': ['spec', 'template'],
  'apps/statefulsets': ['spec', 'template'],
  'batch/cronjobs': ['spec', 'jobTemplate', 'spec', 'template'],
  'batch/jobs': ['spec', 'template'],
};
const MAX_NAMED_PODS = 5;

type Lookups = Pick<AdmissionLookups, 'namespace' | 'podsOf'>;

export function makePodSecurity(lookups: Lookups): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    async validate(request) {
      const { operation } = request;
      if (operation !== 'create' && operation !== 'update') return;
      if (isAbout(request, NAMESPACES))
        return request.subresource === '' ? checkNamespace(request, lookups) : undefined;
      if (isAbout(request, PODS)) return checkPod(request, lookups);
      if (request.subresource === '') await checkTemplate(request, lookups);
    },
  };
}

async function checkPod(request: AdmissionRequest, lookups: Lookups): Promise<void> {
  if (request.subresource !== '' && request.subresource !== 'ephemeralcontainers') return;
  const pod = request.object as V1Pod | undefined;
  if (pod?.spec === undefined || !matters(request, pod)) return;
  const policy = await policyIn(request, lookups);
  const podLike = { metadata: pod.metadata, spec: pod.spec };
  request.annotate?.(`${PREFIX}enforce-policy`, named(policy.enforce));
  audit(request, policy.audit, podLike);
  const broken = violations(policy.enforce, podLike);
  if (broken.length > 0)
    throw forbidden(PODS, request.name, `violates PodSecurity ${shown(policy.enforce)}: ${listed(broken)}`);
  warn(request, policy.warn, podLike);
}

/** An update that changes nothing the standards look at is let through: the pod is there already. */
function matters({ operation, old }: AdmissionRequest, pod: V1Pod): boolean {
  if (operation === 'create') return true;
  const looked = ({ metadata, spec }: V1Pod) => {
    const { tolerations: _, activeDeadlineSeconds: __, ...rest } = spec ?? ({} as V1PodSpec);
    const images = (all: readonly object[] | undefined) => all?.map((one) => ({ ...one, image: '' }));
    return JSON.stringify([
      Object.entries(metadata?.annotations ?? {}).filter(([key]) => key.includes('apparmor.security')),
      { ...rest, containers: images(rest.containers), initContainers: images(rest.initContainers) },
    ]);
  };
  return looked(pod) !== looked(old as V1Pod);
}

async function checkTemplate(request: AdmissionRequest, lookups: Lookups): Promise<void> {
  const path = TEMPLATES[`${request.type.group}/${request.type.resource}`];
  if (path === undefined) return;
  const template = reach(request.object, path) as PodLike | undefined;
  if (template?.spec === undefined) return;
  if (JSON.stringify(template) === JSON.stringify(reach(request.old, path))) return;
  const policy = await policyIn(request, lookups);
  audit(request, policy.audit, template);
  warn(request, policy.warn, template);
}

function reach(object: KubeObject | undefined, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    object,
  );
}

function warn(request: AdmissionRequest, wanted: LevelVersion, pod: PodLike): void {
  const text = wouldViolate(wanted, pod);
  if (text !== undefined) request.warn?.(text);
}

function audit(request: AdmissionRequest, wanted: LevelVersion, pod: PodLike): void {
  const text = wouldViolate(wanted, pod);
  if (text !== undefined) request.annotate?.(`${PREFIX}audit-violations`, text);
}

function wouldViolate(wanted: LevelVersion, pod: PodLike): string | undefined {
  const broken = violations(wanted, pod);
  return broken.length === 0 ? undefined : `would violate PodSecurity ${shown(wanted)}: ${listed(broken)}`;
}

async function policyIn({ namespace }: AdmissionRequest, { namespace: lookup }: Lookups) {
  return policyOf((await lookup({ name: namespace }))?.metadata.labels);
}

async function checkNamespace(request: AdmissionRequest, { podsOf }: Lookups): Promise<void> {
  const labels = request.object?.metadata?.labels as Readonly<Record<string, string>> | undefined;
  const held = request.old?.metadata?.labels;
  const known = new Set(labelFaults(held).map(({ field, message }) => `${field}${message}`));
  // What was wrong before may stay: else nothing else of the namespace could be changed.
  const faults = labelFaults(labels).filter(({ field, message }) => !known.has(`${field}${message}`));
  if (faults.length > 0) throw invalid(NAMESPACES, request.name, faults);
  const { enforce } = policyOf(labels);
  if (request.operation !== 'update' || !isStricter(enforce, policyOf(held).enforce)) return;
  const byFault = new Map<string, string[]>();
  for (const { metadata, spec } of await podsOf(request.name)) {
    const reasons = violations(enforce, { metadata, spec })
      .map(({ reason }) => reason)
      .join(', ');
    if (reasons !== '') byFault.set(reasons, [...(byFault.get(reasons) ?? []), metadata.name]);
  }
  if (byFault.size === 0) return;
  request.warn?.(
    `existing pods in namespace "${request.name}" violate the new PodSecurity enforce level ${shown(enforce)}`,
  );
  for (const [reasons, [first = '', ...others]] of [...byFault].slice(0, MAX_NAMED_PODS))
    request.warn?.(
      `${first}${others.length === 0 ? '' : ` (and ${others.length} other ${others.length === 1 ? 'pod' : 'pods'})`}: ${reasons}`,
    );
}
