// A machine of its own for real container runtimes: mount and process namespaces beside a network namespace of a test.
// Guarantees: /run is empty and private; when it stops, its processes, mounts, files and control groups are gone.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { makeNetNs, type TestNetNs } from './netns.js';

const execute = promisify(execFile);
const CGROUPS = '/sys/fs/cgroup';
let made = 0;

// Runtimes keep sockets, namespaces, locks and state in these. What they write to /etc and /var/lib stays in memory.
const PRELUDE = `
set -e
mount -t tmpfs run /run
mount -t tmpfs shm /dev/shm
mkdir /run/netns /run/overlay
for dir in /etc /var/lib; do
  over=/run/overlay$dir
  mkdir -p $over/upper $over/work
  mount -t overlay -o lowerdir=$dir,upperdir=$over/upper,workdir=$over/work private $dir
done
echo ready
exec sleep 100000
`;

export class IsolatedNode {
  readonly #holder: ChildProcess;
  readonly #pid: number;

  /** A parent for the containers' control groups, as a path from the root of each hierarchy. */
  readonly cgroupParent = `/trellis-test-${process.pid}-${++made}`;

  private constructor(
    /** A folder that the node shares with the test. */
    readonly directory: string,
    holder: ChildProcess,
    pid: number,
  ) {
    this.#holder = holder;
    this.#pid = pid;
  }

  static async start(host: TestNetNs): Promise<IsolatedNode> {
    const directory = mkdtempSync(path.join(tmpdir(), 'trellis-node-'));
    const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const holder = spawn('nsenter', [`--net=${host.path}`, ...unshare, 'sh', '-c', PRELUDE], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors: Buffer[] = [];
    holder.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    const [said] = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
    if (String(said).trim() !== 'ready') {
      rmSync(directory, { recursive: true });
      throw new Error(`the node did not start: ${Buffer.concat(errors)}`);
    }
    const children = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8');
    return new IsolatedNode(directory, holder, Number(children.trim()));
  }

  /** On a host of its own, with the network's configuration in net.d; the host is removed by the caller. */
  static async startWith(
    network: (directory: string) => object,
  ): Promise<{ readonly host: TestNetNs; readonly node: IsolatedNode }> {
    const host = await makeNetNs();
    await host.run('ip', 'link', 'set', 'lo', 'up');
    const node = await IsolatedNode.start(host);
    mkdirSync(path.join(node.directory, 'net.d'));
    const file = path.join(node.directory, 'net.d', '10-pods.conflist');
    writeFileSync(file, JSON.stringify(network(node.directory)));
    return { host, node };
  }

  /** Runs a program inside; rejects with its standard error in the message. */
  async run(file: string, ...args: string[]): Promise<string> {
    const { stdout } = await execute('nsenter', this.entering(file, args), { timeout: 30_000 });
    return stdout;
  }

  /** Starts a program that lives until the node stops. Its output is for whoever looks into a failure. */
  startDaemon(file: string, ...args: string[]): { output(): string } {
    const said: Buffer[] = [];
    const child = spawn('nsenter', this.entering(file, args), { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk));
    return { output: () => Buffer.concat(said).toString() };
  }

  async stop(): Promise<void> {
    // The first process of a process namespace takes all others with it.
    const ended = once(this.#holder, 'exit');
    process.kill(this.#pid, 'SIGKILL');
    await ended;
    removeControlGroups(this.cgroupParent);
    rmSync(this.directory, { recursive: true });
  }

  /** What nsenter must be told to run a program inside. */
  entering(file: string, args: readonly string[]): string[] {
    return [`--target=${this.#pid}`, '--mount', '--pid', '--net', file, ...args];
  }
}

export function removeControlGroups(parent: string): void {
  for (const hierarchy of readdirSync(CGROUPS)) removeTree(path.join(CGROUPS, hierarchy, parent));
  removeTree(path.join(CGROUPS, parent));
}

/** Control groups are removed from the leaves up; their files cannot be, and need not. */
function removeTree(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(path.join(directory, entry.name));
  rmdirSync(directory);
}
