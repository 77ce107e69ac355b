// What may change of a pod's status. Pure.
// Guarantees: addresses are addresses, one of each family; a container that ended for good does not run again; the QoS
// class stays; conditions, users, claims and devices are told of by names that are good.
import { type Cause, checkImmutable, checkName, forbiddenField, invalidValue } from '../../causes.js';
import type { V1Container, V1ContainerStatus, V1Pod, V1PodSpec, V1PodStatus } from '../../gen/types.js';
import { parseIp } from '../../ip.js';
import { dnsSubdomain, ipAddress, qualifiedName } from '../../names.js';
import { validateId } from './security.js';
import { validateStatusResources } from './statusResources.js';

const NOT_AGAIN = 'may not be transitioned to non-terminated state';

/** Both pods of an update whose status is another than before. */
export function validatePodStatus(pod: V1Pod, old: V1Pod): Cause[] {
  const { status = {}, spec = { containers: [] } } = pod;
  const before = old.status ?? {};
  const { observedGeneration: seen = 0 } = status;
  return [
    ...validateConditions(status),
    ...validateNominated(status.nominatedNodeName ?? '', old),
    ...(seen < 0 ? [invalidValue('status.observedGeneration', seen, 'must be a non-negative integer')] : []),
    ...checkImmutable('status.qosClass', 'V1PodStatus.qosClass', status.qosClass, before.qosClass),
    ...validateStates('containerStatuses', spec.containers ?? [], status, before, spec),
    ...validateStates('initContainerStatuses', spec.initContainers ?? [], status, before, spec),
    ...validateEphemeral(status, before),
    ...validateStatusResources(status, spec),
    ...validateIps('podIPs', status, before),
    ...validateHostIp(status),
    ...validateIps('hostIPs', status, before),
    ...validateUsers(status, spec),
  ];
}

/** Those of Kubernetes from its beginning; all others have qualified names. */
const FIRST_CONDITIONS = ['PodScheduled', 'Ready', 'Initialized'];

function validateConditions({ conditions = [] }: V1PodStatus): Cause[] {
  return conditions.flatMap(({ type, observedGeneration: seen = 0 }, index) => {
    const at = `status.conditions[${index}]`;
    const causes =
      seen < 0 ? [invalidValue(`${at}.observedGeneration`, seen, 'must be a non-negative integer')] : [];
    // The stock server writes this field with a capital.
    return FIRST_CONDITIONS.includes(type)
      ? causes
      : [...causes, ...checkName(`${at}.Type`, type ?? '', qualifiedName)];
  });
}

/** Containers for debugging never run twice. */
function validateEphemeral(status: V1PodStatus, before: V1PodStatus): Cause[] {
  const running = new Set(
    (status.ephemeralContainerStatuses ?? [])
      .filter(({ state }) => state?.terminated === undefined)
      .map(({ name }) => name),
  );
  return (before.ephemeralContainerStatuses ?? []).flatMap(({ name, state }, index) =>
    state?.terminated !== undefined && running.has(name)
      ? [forbiddenField(`status.ephemeralContainerStatuses[${index}].state`, NOT_AGAIN)]
      : [],
  );
}

function validateUsers(status: V1PodStatus, { os }: V1PodSpec): Cause[] {
  const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;
  return lists.flatMap((list) =>
    (status[list] ?? []).flatMap(({ user }, index) => {
      if (user?.linux === undefined) return [];
      const at = `status.${list}[${index}].user.linux`;
      if (os?.name === 'windows') return [forbiddenField(at, 'cannot be set for a windows pod')];
      const { uid, gid, supplementalGroups = [] } = user.linux;
      return [
        ...validateId(uid, `${at}.uid`),
        ...validateId(gid, `${at}.gid`),
        ...supplementalGroups.flatMap((id, place) => validateId(id, `${at}.supplementalGroups[${place}]`)),
      ];
    }),
  );
}

function validateNominated(name: string, { spec, status }: V1Pod): Cause[] {
  if (name === '' || name === (status?.nominatedNodeName ?? '')) return [];
  const at = 'status.nominatedNodeName';
  return [
    ...checkName(at, name, dnsSubdomain),
    ...(spec?.nodeName
      ? [forbiddenField(at, 'may not be set on pods that are already bound to a node')]
      : []),
  ];
}

type Statuses = 'containerStatuses' | 'initContainerStatuses';

function validateStates(
  list: Statuses,
  containers: readonly V1Container[],
  status: V1PodStatus,
  before: V1PodStatus,
  spec: V1PodSpec,
): Cause[] {
  const next = new Map((status[list] ?? []).map((one) => [one.name, one]));
  return (before[list] ?? []).flatMap((was, index) => {
    const is = next.get(was.name);
    if (was.state?.terminated === undefined || is === undefined || is.state?.terminated !== undefined)
      return [];
    const container = containers.find(({ name }) => name === was.name);
    if (container !== undefined && mayRunAgain(container, spec, was)) return [];
    return [forbiddenField(`status.${list}[${index}].state`, NOT_AGAIN)];
  });
}

function mayRunAgain(container: V1Container, spec: V1PodSpec, { state }: V1ContainerStatus): boolean {
  // Rules by exit code may restart one container or all of them.
  const hasRules = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].some(
    ({ restartPolicyRules = [] }) => restartPolicyRules.length > 0,
  );
  const policy = container.restartPolicy ?? spec.restartPolicy;
  return hasRules || policy === 'Always' || (policy === 'OnFailure' && state?.terminated?.exitCode !== 0);
}

function validateIps(list: 'podIPs' | 'hostIPs', status: V1PodStatus, before: V1PodStatus): Cause[] {
  const ips = (status[list] ?? []).map(({ ip }) => ip ?? '');
  const kept = new Set((before[list] ?? []).map(({ ip }) => ip ?? ''));
  const causes = ips.flatMap((ip, index) =>
    kept.has(ip) ? [] : checkName(`status.${list}[${index}]`, ip, ipAddress),
  );
  const families = new Set(ips.map((ip) => parseIp(ip)?.family));
  if (ips.length > 1 && (ips.length > 2 || families.size < 2))
    causes.push(
      invalidValue(`status.${list}`, status[list], 'may specify no more than one IP for each IP family'),
    );
  return causes;
}

function validateHostIp({ hostIP = '', hostIPs = [] }: V1PodStatus): Cause[] {
  const [first] = hostIPs;
  return first === undefined || first.ip === hostIP
    ? []
    : [invalidValue('status.hostIPs[0].ip', first.ip, 'must be equal to `hostIP`')];
}
