// What can be seen on the machine that a program may leave behind, as lists of words that can be compared.
// Guarantees: what changes by itself (threads of the kernel, the test's own processes, counters, what the system's own
// services write) is left out, and so is what belongs to another cluster that comes and goes meanwhile.
import { execFile } from 'node:child_process';
import { type Dirent, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Layout, layoutOf } from '../../src/cluster/layout.js';
import { placeOf } from '../../src/cluster/nodes/localNode.js';

const execute = promisify(execFile);

export interface MachineState {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly cgroups: readonly string[];
  readonly links: readonly string[];
  readonly routes: readonly string[];
  readonly nft: readonly string[];
  readonly iptables: readonly string[];
  /** Settings of the network that a node changes. */
  readonly sysctls: readonly string[];
  readonly files: readonly string[];
}

const SYSCTLS = ['net.ipv4.ip_forward', 'net.ipv6.conf.all.forwarding', 'net.ipv6.conf.eth0.accept_ra'];
/** Places outside a data directory where containers, networks and daemons leave things. */
const DIRECTORIES = ['/run', '/var/lib', '/var/log', '/etc', '/opt', '/dev/shm'];
/** Deep enough for every runtime's state; what the package manager and the system's own daemons keep is not looked at. */
const MAX_DEPTH = 4;
/** How whatever a node runs names its things. Files of others come and go on any machine while a test runs. */
const OF_A_NODE =
  /trellis|kube|pod|contain|runc|shim|cni|netns|flannel|iptables|xtables|nft|ipset|buildkit|oci/i;
const NOT_OURS = [
  '/var/lib/dpkg',
  '/var/lib/apt',
  '/run/user',
  '/run/systemd',
  '/run/udev',
  '/run/netns',
  '/var/lib/containers',
  '/run/containers',
  '/run/libpod',
  '/run/crun', // podman's
];
/** Where every containerd of a machine has files whose names do not tell whose they are. */
const SHIM_SOCKETS = '/run/containerd/s/';
const CNI_RESULTS = '/var/lib/cni/results/';
/** The last cluster of a machine takes these directories away, whoever had found them there. */
const SHARED = ['/run/containerd', '/var/lib/cni'];
const isShared = (file: string) => SHARED.some((dir) => `${file}/`.startsWith(`${dir}/`));
/** Of all clusters of the machine. */
const CLUSTERS = '/run/trellis';

interface Place {
  /** Where the cluster's network lives. */
  readonly netns: string;
  /** What its processes name. */
  readonly dataDir: string;
  /** Names of further nodes that it may have on this machine. */
  readonly nodes?: readonly string[];
}

export async function lookAtMachine({ netns, dataDir, nodes = [] }: Place): Promise<MachineState> {
  const layouts = [layoutOf(dataDir), ...nodes.map((name) => placeOf(layoutOf(dataDir), name).layout)];
  const ids = layouts.map(({ id }) => id);
  const isNamed = (text: string) =>
    text.includes(`${path.dirname(dataDir)}/`) || ids.some((id) => text.includes(id));
  const isOurs = (file: string) => OF_A_NODE.test(file) && !isOfAnotherTest(file, ids, dataDir);
  const files = DIRECTORIES.flatMap((dir) => walk(dir)).filter(isOurs);
  // A cluster keeps the sockets of shims that have ended for a while; nothing tells whose they are.
  const hasOthers = existsSync(CLUSTERS) && readdirSync(CLUSTERS).some((id) => !ids.includes(id));
  // Directories that every cluster uses are seen while they are empty, which another cluster's pods make them by turns.
  const isOfAll = (file: string) =>
    file.startsWith(SHIM_SOCKETS) || [SHIM_SOCKETS, CNI_RESULTS].some((dir) => dir.startsWith(`${file}/`));
  const areOurs = await Promise.all(
    files.map(async (file) => !(hasOthers && isOfAll(file)) && isOurFile(file, isNamed)),
  );
  const inside = async (tool: string, ...args: string[]) =>
    lines((await execute('nsenter', [`--net=${netns}`, tool, ...args])).stdout);
  return {
    processes: processes(netns, layouts),
    mounts: lines(readFileSync('/proc/self/mountinfo', 'utf8'))
      .map((line) => line.split(' ')[4] ?? '')
      .filter(isNamed),
    // A cluster has one group of its own at the top of each hierarchy.
    cgroups: readdirSync('/sys/fs/cgroup')
      .flatMap((name) => directoriesIn(`/sys/fs/cgroup/${name}`))
      .filter(isOurs),
    links: (await inside('ip', '-o', 'link', 'show')).map(
      (line) => line.split(': ')[1]?.split('@')[0] ?? line,
    ),
    // Those that the kernel makes by itself come and go with the links and with IPv6's address detection.
    routes: (await inside('ip', 'route', 'show', 'table', 'all')).filter(
      (line) => !line.includes('proto kernel'),
    ),
    nft: await inside('nft', 'list', 'ruleset'),
    iptables: (await inside('iptables-save')).filter((line) => !/^[#:]/.test(line)),
    sysctls: await inside('busybox', 'sysctl', ...SYSCTLS),
    files: files.filter((_, at) => areOurs[at]),
  };
}

/** What is in the second but not in the first, and the other way round; empty when they are the same. */
export function differences(before: MachineState, after: MachineState): string[] {
  return (Object.keys(before) as (keyof MachineState)[]).flatMap((kind) => {
    const [was, is] = [new Set(before[kind]), new Set(after[kind])];
    return [
      ...[...is].filter((word) => !was.has(word)).map((word) => `${kind}: ${word} is left`),
      ...[...was]
        .filter((word) => !is.has(word) && !isShared(word))
        .map((word) => `${kind}: ${word} is gone`),
    ];
  });
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** Those in the cluster's network, those that name its directories, and those in its control groups. */
function processes(netns: string, layouts: readonly Layout[]): string[] {
  const { ino } = statSync(netns);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
        const isOurs =
          statSync(`/proc/${pid}/ns/net`).ino === ino ||
          layouts.some(
            ({ dataDir, runDir, cgroup }) =>
              words.includes(dataDir) ||
              words.includes(runDir) ||
              readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`:${cgroup}`),
          );
        return isOurs && words !== '' ? [`${pid} ${words}`] : [];
      } catch {
        return []; // ended meanwhile
      }
    });
}

/** Other tests of the same machine have namespaces, nodes and clusters of their own. */
const isOfAnotherTest = (file: string, ids: readonly string[], dataDir: string) =>
  /\/trellis-(test|node|bench)-|^\/run\/netns\/trellis-/.test(file) ||
  (file.startsWith(`${tmpdir()}/`) && !file.startsWith(path.dirname(dataDir))) ||
  (/\/trellis[-/][0-9a-f]{8}\b/.test(file) && !ids.some((id) => file.includes(id)));

/** A socket that is answered is somebody else's: none of ours runs when this is asked in earnest. */
async function isOurFile(file: string, isNamed: (text: string) => boolean): Promise<boolean> {
  if (file.startsWith(SHIM_SOCKETS)) return !(await isAnswered(file));
  if (!file.startsWith(CNI_RESULTS)) return true;
  try {
    return isNamed(readFileSync(file, 'utf8'));
  } catch {
    return false; // gone meanwhile
  }
}

function isAnswered(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

function directoriesIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(dir, name));
}

function walk(top: string, depth = 0): string[] {
  if (depth > MAX_DEPTH || NOT_OURS.includes(top)) return [];
  let entries: Dirent[];
  try {
    entries = readdirSync(top, { withFileTypes: true });
  } catch {
    return []; // gone meanwhile
  }
  return entries.flatMap((entry) => {
    const file = path.join(top, entry.name);
    if (!entry.isDirectory()) return [file];
    // One that is not empty is whose its contents are.
    const inside = walk(file, depth + 1);
    return inside.length > 0 ? inside : [file];
  });
}
