// Doctor's table of control groups: which layout is mounted, and which controllers it offers.
// Guarantees: v1, v2 and hybrid layouts are told apart by what is mounted, not by the kernel's version.
import { type Answer, type Check, type FileProbe, missing, type Need, present } from '../check.js';
import { features, file } from './build.js';

const SECTION = 'Control groups';
const MOUNTS = '/proc/self/mountinfo';
const V2_CONTROLLERS = '/sys/fs/cgroup/cgroup.controllers';

/** File system types and options of the mounts of control groups. */
function cgroupMounts(mountinfo: string): { type: string; options: string[] }[] {
  return mountinfo
    .split('\n')
    .map((line) => line.split(' - ')[1]?.split(' ') ?? [])
    .filter(([type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([type = '', , options = '']) => ({ type, options: options.split(',') }));
}

export function judgeLayout(mountinfo: string): Answer {
  const types = new Set(cgroupMounts(mountinfo).map(({ type }) => type));
  if (types.size === 2) return present('v1 and v2 (hybrid)');
  if (types.has('cgroup2')) return present('v2');
  return types.has('cgroup') ? present('v1') : missing('nothing mounted');
}

/** Judges either the list of a v2 root or, where there is none, the mounts of v1. */
export function judgeController({ v1, v2 }: { v1: string; v2: string | null }): (text: string) => Answer {
  return (text) => {
    const mounts = cgroupMounts(text);
    if (mounts.length > 0 || text.includes(' - ')) {
      const found = mounts.some(({ type, options }) => type === 'cgroup' && options.includes(v1));
      return found ? present('v1') : missing('not mounted');
    }
    if (v2 === null) return present('part of v2');
    return text.trim().split(/\s+/).includes(v2) ? present('v2') : missing('not offered');
  };
}

interface ControllerRow {
  readonly v1: string;
  /** Null where v2 has it without a controller. */
  readonly v2: string | null;
  readonly need: Need;
  readonly purpose: string;
}

const CONTROLLERS: readonly ControllerRow[] = [
  { v1: 'cpu', v2: 'cpu', need: 'required', purpose: 'CPU requests and limits' },
  { v1: 'memory', v2: 'memory', need: 'required', purpose: 'memory limits, eviction' },
  { v1: 'pids', v2: 'pids', need: 'recommended', purpose: 'limit of processes in a pod' },
  { v1: 'cpuset', v2: 'cpuset', need: 'recommended', purpose: 'processors of containers' },
  { v1: 'cpuacct', v2: null, need: 'recommended', purpose: 'CPU statistics' },
  { v1: 'devices', v2: null, need: 'recommended', purpose: 'which devices a container may open' },
  { v1: 'freezer', v2: null, need: 'recommended', purpose: 'pausing containers' },
  { v1: 'hugetlb', v2: 'hugetlb', need: 'optional', purpose: 'huge page limits' },
];

const controllerProbe = (row: ControllerRow): FileProbe => ({
  kind: 'file',
  paths: [V2_CONTROLLERS, MOUNTS],
  judge: judgeController(row),
});

export const cgroups: Check[] = [
  {
    id: 'cgroup-layout',
    section: SECTION,
    title: 'layout',
    need: 'required',
    purpose: 'resources of pods; both versions are supported',
    remedy: 'mount -t cgroup2 none /sys/fs/cgroup',
    probe: file(MOUNTS, judgeLayout),
  },
  ...CONTROLLERS.map((row) => ({
    id: `cgroup-${row.v1}`,
    section: SECTION,
    title: `${row.v1} controller`,
    need: row.need,
    purpose: row.purpose,
    remedy: 'a kernel that has the controller; on the command line, no cgroup_disable= for it',
    probe: controllerProbe(row),
  })),
];

// Attaching a program needs one; the kernel's own configuration, or else its symbols, say as much.
const BPF_CONFIGURED =
  '{ zcat /proc/config.gz || cat "/boot/config-$(uname -r)"; } 2>/dev/null | grep -q ^CONFIG_CGROUP_BPF=y ' +
  "|| grep -q ' cgroup_bpf_prog_attach$' /proc/kallsyms";

export const cgroupBpf = features(SECTION, 'grep', [
  {
    id: 'cgroup-bpf',
    title: 'eBPF on control groups',
    need: 'optional',
    purpose: 'which devices a container may open, on v2',
    option: 'CONFIG_CGROUP_BPF',
    script: BPF_CONFIGURED,
  },
]);
