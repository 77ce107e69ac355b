// Checks of a pod's spec as a whole, for pods and pod templates alike. Pure.
// Guarantees: what passes can be handed to the scheduler and to a kubelet without further looks at its form.
import { type Cause, checkName, checkOneOf, invalidValue, notSupported, required } from '../../causes.js';
import type { V1PodSpec, V1PodTemplateSpec, V1Toleration } from '../../gen/types.js';
import { validateAnnotations, validateLabels } from '../../meta.js';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../../names.js';
import { validateContainers } from './containers.js';
import { validateVolumes } from './volumes.js';

const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];
const DNS_POLICIES = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const MAX_INT32 = 2 ** 31 - 1;

export function validatePodSpec(spec: V1PodSpec, at: string): Cause[] {
  const causes: Cause[] = [
    ...validateVolumes(spec.volumes ?? [], `${at}.volumes`),
    ...validateContainers(spec, at),
  ];
  if (!spec.restartPolicy) causes.push(required(`${at}.restartPolicy`));
  else causes.push(...checkOneOf(`${at}.restartPolicy`, spec.restartPolicy, RESTART_POLICIES));
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
    ...validateUsers(spec, at),
  ];
}

/** A template of a controller whose pods never end: only Always is meant. */
export function validatePodTemplate(template: V1PodTemplateSpec | undefined, at: string): Cause[] {
  const { metadata = {}, spec } = template ?? {};
  if (spec === undefined) return [required(`${at}.spec.containers`)];
  const causes = [
    ...validateLabels(metadata.labels, `${at}.labels`),
    ...validateAnnotations(metadata.annotations, `${at}.annotations`),
    ...validatePodSpec(spec, `${at}.spec`),
  ];
  const policy = spec.restartPolicy ?? 'Always';
  if (policy !== 'Always' && RESTART_POLICIES.includes(policy))
    causes.push(notSupported(`${at}.spec.restartPolicy`, policy, ['Always']));
  if (spec.activeDeadlineSeconds !== undefined)
    causes.push({
      reason: 'FieldValueForbidden',
      message: 'Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
      field: `${at}.spec.activeDeadlineSeconds`,
    });
  return causes;
}

function validateDns({ dnsPolicy, dnsConfig }: V1PodSpec, at: string): Cause[] {
  const servers = dnsConfig?.nameservers ?? [];
  return dnsPolicy === 'None' && servers.length === 0
    ? [
        required(
          `${at}.dnsConfig.nameservers`,
          'must provide at least one DNS nameserver when `dnsPolicy` is None',
        ),
      ]
    : [];
}

function validateTimes(
  { activeDeadlineSeconds: deadline, terminationGracePeriodSeconds: grace }: V1PodSpec,
  at: string,
) {
  const causes: Cause[] = [];
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32))
    causes.push(
      invalidValue(`${at}.activeDeadlineSeconds`, deadline, `must be between 1 and ${MAX_INT32}, inclusive`),
    );
  if (grace !== undefined && grace < 0)
    causes.push(
      invalidValue(`${at}.terminationGracePeriodSeconds`, grace, 'must be greater than or equal to 0'),
    );
  return causes;
}

function validateNames(
  { nodeName, serviceAccountName, hostname, subdomain, priorityClassName }: V1PodSpec,
  at: string,
) {
  const checks = [
    { field: 'nodeName', value: nodeName, rule: dnsSubdomain },
    { field: 'serviceAccountName', value: serviceAccountName, rule: dnsSubdomain },
    { field: 'hostname', value: hostname, rule: dnsLabel },
    { field: 'subdomain', value: subdomain, rule: dnsLabel },
    { field: 'priorityClassName', value: priorityClassName, rule: dnsSubdomain },
  ];
  return checks.flatMap(({ field, value, rule }) => (value ? checkName(`${at}.${field}`, value, rule) : []));
}

function validateToleration(
  { key, operator, value, effect, tolerationSeconds }: V1Toleration,
  at: string,
): Cause[] {
  const causes: Cause[] = key ? checkName(`${at}.key`, key, qualifiedName) : [];
  if (!key && operator !== 'Exists')
    causes.push(
      invalidValue(
        `${at}.operator`,
        operator ?? '',
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    );
  if (tolerationSeconds !== undefined && effect !== 'NoExecute')
    causes.push(
      invalidValue(
        `${at}.effect`,
        effect ?? '',
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      ),
    );
  if (operator === 'Exists' && value)
    causes.push(invalidValue(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
  else if (operator !== undefined && !['', 'Equal', 'Exists', 'Gt', 'Lt'].includes(operator))
    causes.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']));
  else if (value) causes.push(...checkName(`${at}.operator`, value, labelValue));
  if (effect)
    causes.push(...checkOneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']));
  return causes;
}

function validateUsers({ securityContext }: V1PodSpec, at: string): Cause[] {
  return (['runAsUser', 'runAsGroup', 'fsGroup'] as const).flatMap((field) => {
    const id = securityContext?.[field];
    return id === undefined || (id >= 0 && id <= MAX_INT32)
      ? []
      : [invalidValue(`${at}.securityContext.${field}`, id, `must be between 0 and ${MAX_INT32}, inclusive`)];
  });
}
