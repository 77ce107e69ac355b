// The baseline level of the pod security standards: no known way from a pod to its node. Pure.
// Guarantees: Kubernetes' checks in Kubernetes' order and words.
import type { V1AppArmorProfile, V1SELinuxOptions } from '../../../api/gen/types.js';
import {
  type Check,
  type CheckedPod,
  containersNamed,
  containersWhere,
  plural,
  quoted,
  settersNamed,
  type Violation,
} from './check.js';

const CAPABILITIES = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
/** From policy version 1.31 on. */
const SELINUX_ENGINE = 'container_engine_t';
const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_syncookies',
];
/** Each with the policy version that allowed it. */
const NEWER_SYSCTLS: ReadonlyMap<string, number> = new Map([
  ['net.ipv4.ip_local_reserved_ports', 27],
  ['net.ipv4.tcp_keepalive_time', 29],
  ['net.ipv4.tcp_fin_timeout', 29],
  ['net.ipv4.tcp_keepalive_intvl', 29],
  ['net.ipv4.tcp_keepalive_probes', 29],
  ['net.ipv4.tcp_rmem', 32],
  ['net.ipv4.tcp_wmem', 32],
]);
const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

const appArmorProfile: Check = {
  id: 'appArmorProfile',
  find({ metadata, spec, containers }) {
    const isBad = (profile: V1AppArmorProfile | undefined) =>
      profile !== undefined && !['', 'RuntimeDefault', 'Localhost'].includes(profile.type ?? '');
    const found = [
      ...(isBad(spec.securityContext?.appArmorProfile)
        ? [
            `pod must not set AppArmor profile type to ${quoted([spec.securityContext?.appArmorProfile?.type ?? ''])}`,
          ]
        : []),
      ...containers
        .filter(({ securityContext }) => isBad(securityContext?.appArmorProfile))
        .map(
          ({ name, securityContext }) =>
            `container "${name}" must not set AppArmor profile type to ${quoted([securityContext?.appArmorProfile?.type ?? ''])}`,
        ),
      ...Object.entries(metadata.annotations ?? {})
        .filter(
          ([key, value]) =>
            key.startsWith(APPARMOR_ANNOTATION) && !/^(|runtime\/default|localhost\/.*)$/.test(value),
        )
        .map(([key, value]) => `annotation ${key}="${value}"`)
        .sort(),
    ];
    if (found.length === 0) return undefined;
    const reason = plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', found.length);
    return { reason, detail: found.join(', ') };
  },
};

const capabilities: Check = {
  id: 'capabilities_baseline',
  find(pod) {
    const extra = (add: readonly string[] = []) => add.filter((one) => !CAPABILITIES.has(one));
    const names = containersWhere(pod, ({ capabilities }) => extra(capabilities?.add).length > 0);
    if (names.length === 0) return undefined;
    const added = pod.containers.flatMap(({ securityContext }) => extra(securityContext?.capabilities?.add));
    const list = quoted([...new Set(added)].sort());
    return {
      reason: 'non-default capabilities',
      detail: `${containersNamed(names)} must not include ${list} in securityContext.capabilities.add`,
    };
  },
};

const hostNamespaces: Check = {
  id: 'hostNamespaces',
  find({ spec }) {
    const used = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((key) => spec[key] === true);
    const detail = used.map((key) => `${key}=true`).join(', ');
    return used.length === 0 ? undefined : { reason: 'host namespaces', detail };
  },
};

const hostPathVolumes: Check = {
  id: 'hostPathVolumes',
  find({ spec }) {
    const names = (spec.volumes ?? [])
      .filter(({ hostPath }) => hostPath !== undefined)
      .map(({ name }) => name);
    if (names.length === 0) return undefined;
    const detail = `${plural('volume', 'volumes', names.length)} ${quoted(names)}`;
    return { reason: 'hostPath volumes', detail };
  },
};

const hostPorts: Check = {
  id: 'hostPorts',
  find({ containers }) {
    const portsOf = ({ ports = [] }: CheckedPod['containers'][number]) =>
      ports.flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [hostPort]));
    const names = containers.filter((one) => portsOf(one).length > 0).map(({ name }) => name);
    if (names.length === 0) return undefined;
    const ports = [...new Set(containers.flatMap(portsOf))].sort((a, b) => a - b);
    const detail = `${containersNamed(names)} ${plural('uses', 'use', names.length)} ${plural('hostPort', 'hostPorts', ports.length)} ${ports.join(', ')}`;
    return { reason: 'hostPort', detail };
  },
};

const hostProbes: Check = {
  id: 'hostProbesAndHostLifecycle',
  find({ containers, minor }) {
    if (minor < 34) return undefined;
    const hostsOf = (one: CheckedPod['containers'][number]) => {
      const handlers = [one.livenessProbe, one.readinessProbe, one.startupProbe];
      return [...handlers, one.lifecycle?.postStart, one.lifecycle?.preStop]
        .flatMap((handler) => [handler?.httpGet?.host ?? '', handler?.tcpSocket?.host ?? ''])
        .filter((host) => host !== '');
    };
    const names = containers.filter((one) => hostsOf(one).length > 0).map(({ name }) => name);
    if (names.length === 0) return undefined;
    const hosts = [...new Set(containers.flatMap(hostsOf))].sort();
    const detail = `${containersNamed(names)} ${plural('uses', 'use', names.length)} ${plural('probe or lifecycle host', 'probe or lifecycle hosts', hosts.length)} ${quoted(hosts)}`;
    return { reason: 'probe or lifecycle host', detail };
  },
};

const privileged: Check = {
  id: 'privileged',
  find(pod) {
    const names = containersWhere(pod, (context) => context.privileged === true);
    if (names.length === 0) return undefined;
    const detail = `${containersNamed(names)} must not set securityContext.privileged=true`;
    return { reason: 'privileged', detail };
  },
};

const procMount: Check = {
  id: 'procMount',
  find(pod) {
    // From 1.35 on a pod in a user namespace may see all of its own /proc.
    if (pod.minor >= 35 && pod.spec.hostUsers === false) return undefined;
    const isBad = (mount: string | undefined) => mount !== undefined && mount !== 'Default';
    const names = containersWhere(pod, (context) => isBad(context.procMount));
    if (names.length === 0) return undefined;
    const kinds = pod.containers
      .flatMap(({ securityContext }) => securityContext?.procMount ?? [])
      .filter(isBad);
    const detail = `${containersNamed(names)} must not set securityContext.procMount to ${quoted([...new Set(kinds)].sort())}`;
    return { reason: 'procMount', detail };
  },
};

const seLinuxOptions: Check = {
  id: 'seLinuxOptions',
  find(pod) {
    const allowed = pod.minor >= 31 ? [...SELINUX_TYPES, SELINUX_ENGINE] : SELINUX_TYPES;
    const isBad = ({ type = '', user = '', role = '' }: V1SELinuxOptions = {}) =>
      !allowed.includes(type) || user !== '' || role !== '';
    const own = pod.spec.securityContext?.seLinuxOptions;
    const names = containersWhere(pod, (context) => isBad(context.seLinuxOptions));
    if (names.length === 0 && !isBad(own)) return undefined;
    const all = [own, ...pod.containers.map(({ securityContext }) => securityContext?.seLinuxOptions)];
    const types = all.map((one) => one?.type ?? '').filter((type) => !allowed.includes(type));
    const unique = [...new Set(types)].sort();
    const faults = [
      ...(unique.length > 0 ? [`${plural('type', 'types', unique.length)} ${quoted(unique)}`] : []),
      ...(all.some((one) => (one?.user ?? '') !== '') ? ['user may not be set'] : []),
      ...(all.some((one) => (one?.role ?? '') !== '') ? ['role may not be set'] : []),
    ];
    const detail = `${settersNamed(isBad(own), names)} set forbidden securityContext.seLinuxOptions: ${faults.join('; ')}`;
    return { reason: 'seLinuxOptions', detail };
  },
};

const seccompProfile: Check = {
  id: 'seccompProfile_baseline',
  find(pod): Violation | undefined {
    const isBad = (type: string | undefined) => type === 'Unconfined';
    const isPod = isBad(pod.spec.securityContext?.seccompProfile?.type);
    const names = containersWhere(pod, (context) => isBad(context.seccompProfile?.type));
    if (names.length === 0 && !isPod) return undefined;
    const detail = `${settersNamed(isPod, names)} must not set securityContext.seccompProfile.type to "Unconfined"`;
    return { reason: 'seccompProfile', detail };
  },
};

const sysctls: Check = {
  id: 'sysctls',
  find({ spec, minor }) {
    const isAllowed = (name: string) => {
      const since = NEWER_SYSCTLS.get(name);
      return SYSCTLS.includes(name) || (since !== undefined && since <= minor);
    };
    const names = (spec.securityContext?.sysctls ?? [])
      .map(({ name }) => name)
      .filter((name) => !isAllowed(name));
    return names.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: names.join(', ') };
  },
};

const windowsHostProcess: Check = {
  id: 'windowsHostProcess',
  find(pod) {
    const isPod = pod.spec.securityContext?.windowsOptions?.hostProcess === true;
    const names = containersWhere(pod, (context) => context.windowsOptions?.hostProcess === true);
    if (names.length === 0 && !isPod) return undefined;
    const detail = `${settersNamed(isPod, names)} must not set securityContext.windowsOptions.hostProcess=true`;
    return { reason: 'hostProcess', detail };
  },
};

export const BASELINE: readonly Check[] = [
  appArmorProfile,
  capabilities,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  seLinuxOptions,
  seccompProfile,
  sysctls,
  windowsHostProcess,
];
