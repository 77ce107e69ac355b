// Doctor's table of namespaces, file systems and system call filters.
// Guarantees: mounts are made for real, in a mount namespace that is gone a moment later.
import { type Check, type KernelProbe, missing, present } from '../check.js';
import { features, file } from './build.js';

const SECTION = 'Namespaces and file systems';

const OVERLAY = [
  'mkdir -p /tmp/o/l /tmp/o/u /tmp/o/w /tmp/o/m',
  'mount -t overlay -o lowerdir=/tmp/o/l,upperdir=/tmp/o/u,workdir=/tmp/o/w overlay /tmp/o/m',
].join(' && ');

export const isolation: Check<KernelProbe>[] = [
  ...features(SECTION, 'unshare', [
    {
      id: 'netns',
      title: 'network namespaces',
      need: 'required',
      purpose: 'a network of its own for each pod and node',
      option: 'CONFIG_NET_NS',
      script: 'unshare --net true',
    },
    {
      id: 'pidns',
      title: 'pid, ipc, uts namespaces',
      need: 'required',
      purpose: 'pods; several nodes on one machine',
      option: 'CONFIG_PID_NS, CONFIG_IPC_NS, CONFIG_UTS_NS',
      script: 'unshare --pid --ipc --uts --fork true',
    },
    {
      id: 'cgroupns',
      title: 'cgroup namespaces',
      need: 'recommended',
      purpose: 'hides the host hierarchy from pods',
      option: 'CONFIG_CGROUPS',
      script: 'unshare --cgroup true',
    },
    {
      id: 'userns',
      title: 'user namespaces',
      need: 'optional',
      purpose: 'pods with hostUsers: false',
      option: 'CONFIG_USER_NS (and user.max_user_namespaces above 0)',
      script: 'unshare --user true',
    },
  ]),
  ...features(SECTION, 'mount', [
    {
      id: 'overlayfs',
      title: 'overlayfs',
      need: 'required',
      purpose: "containerd's image layers",
      module: 'overlay',
      option: 'CONFIG_OVERLAY_FS',
      script: OVERLAY,
    },
  ]),
];

export const systemCalls: Check[] = [
  {
    id: 'seccomp',
    section: SECTION,
    title: 'seccomp filters',
    need: 'recommended',
    purpose: 'the RuntimeDefault profile of pods',
    remedy: 'a kernel built with CONFIG_SECCOMP_FILTER',
    probe: file('/proc/sys/kernel/seccomp/actions_avail', (text) =>
      text.includes('errno') ? present('yes') : missing('no filter actions'),
    ),
  },
];
