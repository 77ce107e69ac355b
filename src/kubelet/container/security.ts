// Security contexts of pod and container as the runtime takes them. Pure.
// Guarantees: the container's word wins over the pod's; a root image under runAsNonRoot is refused.
import type { V1Container, V1SeccompProfile } from '../../api/gen/types.js';
import type {
  ContainerConfig,
  IdMapping,
  Image,
  NamespaceOptions,
  PodSandboxConfig,
  SecurityProfile,
} from '../../cri/runtime.js';
import { KubeletError } from '../error.js';
import { allContainers, podText } from '../names.js';
import type { Pod } from '../ports.js';

const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** `ids` of a pod that has its own users. */
export function namespaceOptions({ spec }: Pod, ids: IdMapping | undefined): NamespaceOptions {
  return {
    network: spec.hostNetwork === true ? 'NODE' : 'POD',
    pid: spec.hostPID === true ? 'NODE' : spec.shareProcessNamespace === true ? 'POD' : 'CONTAINER',
    ipc: spec.hostIPC === true ? 'NODE' : 'POD',
    ...(ids === undefined ? {} : { usernsOptions: { mode: 'POD', uids: [ids], gids: [ids] } }),
  };
}

export function sandboxSecurity(pod: Pod, ids?: IdMapping): PodSandboxConfig['linux']['securityContext'] {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec.securityContext ?? {};
  return {
    namespaceOptions: namespaceOptions(pod, ids),
    privileged: allContainers(pod).some(({ securityContext }) => securityContext?.privileged === true),
    seccomp: { profileType: 'RuntimeDefault' },
    supplementalGroups: groupsOf(pod),
    ...groupsPolicy(pod),
    ...(seLinuxOptions === undefined ? {} : { selinuxOptions: seLinuxOptions }),
    ...(runAsUser === undefined ? {} : { runAsUser: { value: runAsUser } }),
    ...(runAsGroup === undefined || runAsUser === undefined ? {} : { runAsGroup: { value: runAsGroup } }),
  };
}

export function containerSecurity(
  pod: Pod,
  container: V1Container,
  image: Pick<Image, 'uid' | 'username'> | undefined,
  {
    seccompRoot,
    seccompDefault = false,
    ids,
  }: {
    readonly seccompRoot: string;
    readonly seccompDefault?: boolean | undefined;
    readonly ids?: IdMapping | undefined;
  },
): ContainerConfig['linux']['securityContext'] {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext ?? {};
  const privileged = own.privileged === true;
  const unmasked = privileged || own.procMount === 'Unmasked';
  const runAsUser = own.runAsUser ?? shared.runAsUser;
  const runAsGroup = own.runAsGroup ?? shared.runAsGroup;
  if (own.runAsNonRoot ?? shared.runAsNonRoot) refuseRoot(pod, container, runAsUser, image);
  const apparmor = own.appArmorProfile ?? shared.appArmorProfile;
  const selinuxOptions = own.seLinuxOptions ?? shared.seLinuxOptions;
  const fallback = seccompDefault ? { type: 'RuntimeDefault' } : undefined;
  return {
    privileged,
    namespaceOptions: namespaceOptions(pod, ids),
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : MASKED_PATHS,
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    supplementalGroups: groupsOf(pod),
    ...groupsPolicy(pod),
    seccomp: privileged
      ? { profileType: 'Unconfined' }
      : seccomp(own.seccompProfile ?? shared.seccompProfile ?? fallback, seccompRoot),
    ...(apparmor === undefined ? {} : { apparmor: profile(apparmor) }),
    ...(selinuxOptions === undefined ? {} : { selinuxOptions }),
    ...(own.capabilities === undefined
      ? {}
      : {
          capabilities: {
            addCapabilities: own.capabilities.add ?? [],
            dropCapabilities: own.capabilities.drop ?? [],
          },
        }),
    ...userOf(runAsUser, image),
    ...(runAsGroup === undefined ? {} : { runAsGroup: { value: runAsGroup } }),
  };
}

function userOf(runAsUser: number | undefined, image: Pick<Image, 'uid' | 'username'> | undefined) {
  const { uid, username } = image ?? {};
  if (runAsUser === undefined && uid === undefined && username) return { runAsUsername: username };
  // Said outright, also of an image that names nobody: runtimes take a group only beside a user.
  return { runAsUser: { value: runAsUser ?? uid?.value ?? 0 } };
}

function refuseRoot(
  pod: Pod,
  container: V1Container,
  runAsUser: number | undefined,
  image: Pick<Image, 'uid' | 'username'> | undefined,
): void {
  const where = `(pod: "${podText(pod)}", container: ${container.name})`;
  const refuse = (why: string) => new KubeletError('CreateContainerConfigError', `${why} ${where}`);
  if (runAsUser === 0) throw refuse("container's runAsUser breaks non-root policy");
  if (runAsUser !== undefined) return;
  const { uid, username } = image ?? {};
  if (uid === undefined && username)
    throw refuse(
      `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root`,
    );
  if (uid === undefined || uid.value === 0)
    throw refuse('container has runAsNonRoot and image will run as root');
}

function groupsOf({ spec }: Pod): readonly number[] {
  const { supplementalGroups = [], fsGroup } = spec.securityContext ?? {};
  return fsGroup === undefined ? supplementalGroups : [...supplementalGroups, fsGroup];
}

function groupsPolicy({ spec }: Pod) {
  const policy = spec.securityContext?.supplementalGroupsPolicy;
  return policy === undefined ? {} : { supplementalGroupsPolicy: policy };
}

/** The node's own profiles are files below the kubelet's directory. */
function seccomp(given: V1SeccompProfile | undefined, root: string): SecurityProfile {
  const { profileType, localhostRef } = profile(given);
  return { profileType, ...(localhostRef === undefined ? {} : { localhostRef: `${root}/${localhostRef}` }) };
}

function profile(given: V1SeccompProfile | undefined): SecurityProfile {
  const type = given?.type;
  if (type === 'RuntimeDefault') return { profileType: 'RuntimeDefault' };
  if (type === 'Localhost') return { profileType: 'Localhost', localhostRef: given?.localhostProfile ?? '' };
  return { profileType: 'Unconfined' };
}
