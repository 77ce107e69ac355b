// Checks of a pod's spec as a whole, for pods and pod templates alike. Pure.
// Guarantees: what passes can be handed to the scheduler and to a kubelet without further looks at its form.
import {
  type Cause,
  checkOneOf,
  forbiddenField,
  invalidValue,
  notInEnum,
  notSupported,
  required,
} from '../../causes.js';
import type { V1PodSpec, V1PodTemplateSpec } from '../../gen/types.js';
import { validateAnnotations, validateLabels } from '../../meta.js';
import { validateAffinity, validateSpread } from './affinity.js';
import { validateContainers } from './containers.js';
import { validateAliases, validateDns, validateGates, validateNames } from './names.js';
import { validatePodSecurity } from './security.js';
import { validateToleration } from './tolerations.js';
import { validateVolumes } from './volumes.js';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const MAX_INT32 = 2 ** 31 - 1;

export function validatePodSpec(spec: V1PodSpec, at: string): Cause[] {
  const causes: Cause[] = [
    ...validateVolumes(spec.volumes ?? [], `${at}.volumes`),
    ...validateContainers(spec, at),
  ];
  if (!spec.restartPolicy) causes.push(required(`${at}.restartPolicy`));
  else if (!RESTART_POLICIES.includes(spec.restartPolicy))
    causes.push(notInEnum(`${at}.restartPolicy`, spec.restartPolicy, RESTART_POLICIES));
  return [
    ...causes,
    ...checkOneOf(`${at}.dnsPolicy`, spec.dnsPolicy, DNS_POLICIES),
    ...validateDns(spec, at),
    ...validateTimes(spec, at),
    ...validateLabels(spec.nodeSelector, `${at}.nodeSelector`),
    ...validateNames(spec, at),
    ...(spec.tolerations ?? []).flatMap((some, index) =>
      validateToleration(some, `${at}.tolerations[${index}]`),
    ),
    ...(spec.imagePullSecrets ?? []).flatMap(({ name }, index) =>
      name ? [] : [required(`${at}.imagePullSecrets[${index}].name`)],
    ),
    ...validatePodSecurity(spec, at),
    ...validateAffinity(spec.affinity, `${at}.affinity`),
    ...validateSpread(spec.topologySpreadConstraints ?? [], `${at}.topologySpreadConstraints`),
    ...validateAliases(spec, at),
    ...validateGates(spec, at),
  ];
}

/** What stands in a template, whoever uses it. */
export function validateTemplate(template: V1PodTemplateSpec | undefined, at: string): Cause[] {
  const { metadata = {}, spec } = template ?? {};
  if (spec === undefined) return [required(`${at}.spec.containers`)];
  const ephemeral = spec.ephemeralContainers ?? [];
  return [
    ...validateLabels(metadata.labels, `${at}.labels`),
    ...validateAnnotations(metadata.annotations, `${at}.annotations`),
    ...validatePodSpec(spec, `${at}.spec`),
    ...(ephemeral.length === 0
      ? []
      : [
          forbiddenField(
            `${at}.spec.ephemeralContainers`,
            'ephemeral containers not allowed in pod template',
          ),
        ]),
  ];
}

/** A template of a controller whose pods never end: only Always is meant. */
export function validatePodTemplate(
  template: V1PodTemplateSpec | undefined,
  at: string,
  owner = 'ReplicaSet',
): Cause[] {
  const causes = validateTemplate(template, at);
  const { restartPolicy: policy = 'Always', activeDeadlineSeconds } = template?.spec ?? {};
  if (policy !== 'Always' && RESTART_POLICIES.includes(policy))
    causes.push(notSupported(`${at}.spec.restartPolicy`, policy, ['Always']));
  if (activeDeadlineSeconds !== undefined)
    causes.push(
      forbiddenField(
        `${at}.spec.activeDeadlineSeconds`,
        `activeDeadlineSeconds in ${owner} is not Supported`,
      ),
    );
  return causes;
}

function validateTimes({ activeDeadlineSeconds: deadline }: V1PodSpec, at: string) {
  const causes: Cause[] = [];
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32))
    causes.push(
      invalidValue(`${at}.activeDeadlineSeconds`, deadline, `must be between 1 and ${MAX_INT32}, inclusive`),
    );
  return causes;
}
