// Doctor's table of the machine itself and the privileges of the process.
// Guarantees: read from /proc alone, so these rows have an answer even where nothing is installed.
import { type Answer, type Check, missing, type Need, present } from '../check.js';
import { atLeast, file } from './build.js';

const MACHINE = 'Machine';
const PRIVILEGES = 'Privileges';
const OLDEST_KERNEL = [5, 10] as const;

export const machine: Check[] = [
  {
    id: 'kernel-version',
    section: MACHINE,
    title: 'Linux',
    need: 'required',
    purpose: `netlink, nf_tables and cgroup interfaces of ${OLDEST_KERNEL.join('.')} or newer`,
    remedy: 'upgrade the kernel (Debian 11 or newer has one)',
    probe: file('/proc/sys/kernel/osrelease', judgeKernelVersion),
  },
  {
    id: 'memory',
    section: MACHINE,
    title: 'memory (MiB)',
    need: 'recommended',
    purpose: 'a control plane, containerd and a few pods',
    remedy: 'a machine with 1 GiB or more',
    probe: file(
      '/proc/meminfo',
      atLeast(950, (text) => Math.floor(Number(/^MemTotal:\s+(\d+) kB/m.exec(text)?.[1]) / 1024)),
    ),
  },
  {
    id: 'processors',
    section: MACHINE,
    title: 'processors',
    need: 'optional',
    purpose: 'control plane and node agent beside the pods',
    remedy: 'a machine with two or more',
    probe: file(
      '/proc/stat',
      atLeast(2, (text) => text.match(/^cpu\d+ /gm)?.length ?? Number.NaN),
    ),
  },
];

/** Version numbers are compared part by part: 5.9 is older than 5.10. */
export function judgeKernelVersion(text: string): Answer {
  const release = text.trim();
  const [major = Number.NaN, minor = Number.NaN] = release
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  const [oldestMajor, oldestMinor] = OLDEST_KERNEL;
  const old = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  return old ? { state: 'low', found: release } : present(release);
}

interface CapabilityRow {
  readonly bit: number;
  readonly name: string;
  readonly need: Need;
  readonly purpose: string;
}

const CAPABILITIES: readonly CapabilityRow[] = [
  { bit: 12, name: 'CAP_NET_ADMIN', need: 'required', purpose: 'links, routes, rules and sets' },
  { bit: 21, name: 'CAP_SYS_ADMIN', need: 'required', purpose: 'namespaces, mounts, control groups' },
  { bit: 13, name: 'CAP_NET_RAW', need: 'recommended', purpose: 'iptables, legacy back end; ping in pods' },
  { bit: 5, name: 'CAP_KILL', need: 'recommended', purpose: 'ending processes of pods' },
  { bit: 0, name: 'CAP_CHOWN', need: 'recommended', purpose: 'volume ownership (fsGroup)' },
  { bit: 1, name: 'CAP_DAC_OVERRIDE', need: 'recommended', purpose: 'files of pods that run as other users' },
  {
    bit: 19,
    name: 'CAP_SYS_PTRACE',
    need: 'recommended',
    purpose: 'opening the namespaces of pods by process id',
  },
  { bit: 18, name: 'CAP_SYS_CHROOT', need: 'recommended', purpose: 'entering mount namespaces' },
  { bit: 27, name: 'CAP_MKNOD', need: 'recommended', purpose: 'device nodes in containers' },
  {
    bit: 24,
    name: 'CAP_SYS_RESOURCE',
    need: 'recommended',
    purpose: 'lowering oom_score_adj of critical pods, raising limits',
  },
  { bit: 16, name: 'CAP_SYS_MODULE', need: 'optional', purpose: 'loading kernel modules on demand' },
];

export const privileges: Check[] = CAPABILITIES.map(({ bit, name, need, purpose }) => ({
  id: name.toLowerCase().replaceAll('_', '-'),
  section: PRIVILEGES,
  title: name,
  need,
  purpose,
  remedy: `run as root; in a container, add the capability (--cap-add ${name.slice('CAP_'.length)})`,
  probe: file('/proc/self/status', judgeCapability(bit)),
}));

/** Looks for one bit in the effective set of /proc/self/status. */
export function judgeCapability(bit: number): (text: string) => Answer {
  return (text) => {
    const mask = /^CapEff:\s+([0-9a-f]+)$/m.exec(text)?.[1];
    if (mask === undefined) return { state: 'unknown', found: 'no CapEff line' };
    return (BigInt(`0x${mask}`) >> BigInt(bit)) & 1n ? present('held') : missing('not held');
  };
}
