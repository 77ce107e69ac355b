// Checks of security contexts, the pod's and its containers'. Pure.
// Guarantees: no two settings contradict each other, and profiles on the node are named inside their directory.
import { byteLength } from '../../byteLength.js';
import { type Cause, checkOneOf, duplicate, invalidValue, notSupported, required } from '../../causes.js';
import type {
  V1AppArmorProfile,
  V1PodSecurityContext,
  V1PodSpec,
  V1SeccompProfile,
  V1SecurityContext,
  V1Sysctl,
} from '../../gen/types.js';
import { validateInside } from './volumes.js';

const MAX_ID = 2 ** 31 - 1;
const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const MAX_SYSCTL = 253;
const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const MAX_APPARMOR = 4095;

export function validatePodSecurity(spec: V1PodSpec, at: string): Cause[] {
  const context: V1PodSecurityContext = spec.securityContext ?? {};
  const here = `${at}.securityContext`;
  const causes = [
    ...validateIds(context, ['runAsUser', 'runAsGroup', 'fsGroup'], here),
    ...(context.supplementalGroups ?? []).flatMap((id, index) =>
      validateId(id, `${here}.supplementalGroups[${index}]`),
    ),
    ...validateSysctls(context.sysctls ?? [], spec, `${here}.sysctls`),
    ...checkOneOf(`${here}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']),
    ...checkOneOf(`${here}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']),
    ...validateSeccomp(context.seccompProfile, `${here}.seccompProfile`),
    ...validateAppArmor(context.appArmorProfile, `${here}.appArmorProfile`),
  ];
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    causes.push(
      invalidValue(
        `${at}.shareProcessNamespace`,
        true,
        'ShareProcessNamespace and HostPID cannot both be enabled',
      ),
    );
  return [...causes, ...validateHostUsers(spec, at)];
}

/** A pod with users of its own cannot use what belongs to the node's. */
function validateHostUsers(spec: V1PodSpec, at: string): Cause[] {
  if (spec.hostUsers !== false) return [];
  return (['hostNetwork', 'hostPID', 'hostIPC'] as const)
    .filter((field) => spec[field] === true)
    .map((field) => invalidValue(`${at}.${field}`, true, 'when `hostUsers` is false'));
}

/** `hostUsers` of the pod: what is hidden in /proc is hidden from the node's root, and from no other. */
export function validateContainerSecurity(
  context: V1SecurityContext | undefined,
  at: string,
  { hostUsers }: Pick<V1PodSpec, 'hostUsers'>,
): Cause[] {
  if (context === undefined) return [];
  const { privileged, allowPrivilegeEscalation, capabilities, procMount } = context;
  const causes = [
    ...validateIds(context, ['runAsUser', 'runAsGroup'], at),
    ...(procMount === undefined || ['Default', 'Unmasked'].includes(procMount)
      ? []
      : [notSupported(`${at}.procMount`, procMount, ['Default', 'Unmasked'])]),
    ...(procMount === 'Unmasked' && hostUsers !== false
      ? [invalidValue(`${at}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`')]
      : []),
    ...validateSeccomp(context.seccompProfile, `${at}.seccompProfile`),
    ...validateAppArmor(context.appArmorProfile, `${at}.appArmorProfile`),
  ];
  if (allowPrivilegeEscalation !== false) return causes;
  if (privileged === true)
    causes.push(
      invalidValue(at, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'),
    );
  if (capabilities?.add?.some((name) => name === 'CAP_SYS_ADMIN'))
    causes.push(
      invalidValue(
        at,
        context,
        'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      ),
    );
  return causes;
}

type Ids = Readonly<Partial<Record<'runAsUser' | 'runAsGroup' | 'fsGroup', number | undefined>>>;

function validateIds(context: Ids, fields: readonly (keyof Ids)[], at: string): Cause[] {
  return fields.flatMap((field) => validateId(context[field], `${at}.${field}`));
}

export function validateId(id: number | undefined, at: string): Cause[] {
  return id === undefined || (id >= 0 && id <= MAX_ID)
    ? []
    : [invalidValue(at, id, `must be between 0 and ${MAX_ID}, inclusive`)];
}

function validateSysctls(sysctls: readonly V1Sysctl[], spec: V1PodSpec, at: string): Cause[] {
  const seen = new Set<string>();
  return sysctls.flatMap(({ name }, index) => {
    const here = `${at}[${index}].name`;
    if (!name) return [required(here)];
    if (name.length > MAX_SYSCTL || !SYSCTL.test(name))
      return [
        invalidValue(
          here,
          name,
          `must have at most ${MAX_SYSCTL} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
        ),
      ];
    const causes: Cause[] = seen.has(name) ? [duplicate(here, name)] : [];
    seen.add(name);
    const dotted = name.replaceAll('/', '.');
    if (spec.hostNetwork === true && dotted.startsWith('net.'))
      causes.push(invalidValue(here, name, "may not be specified when 'hostNetwork' is true"));
    if (spec.hostIPC === true && /^(kernel\.(shm|msg|sem)|fs\.mqueue\.)/.test(dotted))
      causes.push(invalidValue(here, name, "may not be specified when 'hostIPC' is true"));
    return causes;
  });
}

function validateSeccomp(profile: V1SeccompProfile | undefined, at: string): Cause[] {
  if (profile === undefined) return [];
  const { type, localhostProfile: path } = profile;
  if (!type) return [required(`${at}.type`, 'type is required when seccompProfile is set')];
  if (!PROFILES.includes(type)) return [notSupported(`${at}.type`, type, PROFILES)];
  if (type === 'Localhost')
    return path
      ? validateInside(path, `${at}.localhostProfile`)
      : [required(`${at}.localhostProfile`, 'must be set when seccomp type is Localhost ')];
  return path === undefined
    ? []
    : [invalidValue(`${at}.localhostProfile`, path, 'can only be set when seccomp type is Localhost')];
}

function validateAppArmor(profile: V1AppArmorProfile | undefined, at: string): Cause[] {
  if (profile === undefined) return [];
  const { type, localhostProfile: name } = profile;
  const field = `${at}.localhostProfile`;
  if (!type) return [required(`${at}.type`, 'type is required when appArmorProfile is set')];
  if (!PROFILES.includes(type)) return [notSupported(`${at}.type`, type, PROFILES)];
  if (type !== 'Localhost')
    return name === undefined
      ? []
      : [invalidValue(field, name, 'can only be set when AppArmor type is Localhost')];
  if (!name) return [required(field, 'must be set when AppArmor type is Localhost')];
  if (name.trim() !== name) return [invalidValue(field, name, 'must not be padded with whitespace')];
  return byteLength(name) > MAX_APPARMOR
    ? [
        {
          reason: 'FieldValueTooLong',
          message: `Too long: may not be more than ${MAX_APPARMOR} bytes`,
          field,
        },
      ]
    : [];
}
