// A cluster of a test: `trellis` and kubectl as a user types them, in a network namespace of the test's own.
// Guarantees: `remove` takes everything away, whatever state the test left it in.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { makeNetNs, type TestNetNs } from './netns.js';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const NODE_ADDRESS = '192.168.99.1';
const COMMAND_MS = 120_000;

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  readonly input?: string;
}

export class TestCluster {
  private constructor(
    readonly netns: TestNetNs,
    readonly dataDir: string,
  ) {}

  static async make(): Promise<TestCluster> {
    const netns = await makeNetNs();
    const route = await openRoute(netns.path);
    // A node as hosts are: a device with an address, and a way out that nobody answers on.
    await route.apply([
      { do: 'change', kind: 'link', name: 'lo', up: true },
      { do: 'add', kind: 'link', name: 'eth0', type: 'veth', up: true, peer: { name: 'far' } },
      { do: 'change', kind: 'link', name: 'far', up: true },
      { do: 'add', kind: 'address', dev: 'eth0', address: `${NODE_ADDRESS}/24` },
      { do: 'add', kind: 'route', gateway: '192.168.99.254' },
    ]);
    route.close();
    // As on a machine that has never forwarded anything: what a cluster switches on can be seen to be switched off again.
    await netns.run('busybox', 'sysctl', '-q', 'net.ipv4.ip_forward=0', 'net.ipv6.conf.all.forwarding=0');
    return new TestCluster(netns, path.join(mkdtempSync(path.join(tmpdir(), 'trellis-e2e-')), 'data'));
  }

  /** A second one on the same machine and network, with data of its own; the first keeps the network. */
  another(): TestCluster {
    const netns = { ...this.netns, remove: async () => {} };
    return new TestCluster(netns, path.join(mkdtempSync(path.join(tmpdir(), 'trellis-e2e-')), 'data'));
  }

  /** What lookAtMachine asks for. */
  get place(): { netns: string; dataDir: string } {
    return { netns: this.netns.path, dataDir: this.dataDir };
  }

  /** Runs any program in the cluster's network namespace; never rejects for its exit code. */
  run(words: readonly string[], options: CommandOptions = {}): Promise<Answer> {
    return answerOf('nsenter', [`--net=${this.netns.path}`, ...words], options);
  }

  /** `trellis <command> --data-dir D <more>`. */
  trellis(command: string, ...more: string[]): Promise<Answer> {
    return this.run([process.execPath, MAIN, ...command.split(' '), '--data-dir', this.dataDir, ...more]);
  }

  /** kubectl with that on its standard input; never rejects for its exit code. */
  kubectlOf(input: string, ...words: string[]): Promise<Answer> {
    const command = [process.execPath, MAIN, 'kubectl', '--data-dir', this.dataDir];
    return this.run([...command, ...words], { input });
  }

  /** Rejects with both outputs when kubectl fails. */
  async kubectl(...words: string[]): Promise<string> {
    const answer = await this.trellis('kubectl', ...words);
    if (answer.code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${answer.stderr}${answer.stdout}`);
    return answer.stdout;
  }

  /** A kubectl that goes on until it is stopped, such as with -w or -f. */
  follow(...words: string[]): { said(): string; stop(): Promise<void> } {
    const command = [process.execPath, MAIN, 'kubectl', '--data-dir', this.dataDir, ...words];
    const child = spawn('nsenter', [`--net=${this.netns.path}`, ...command], { detached: true });
    const said: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
    const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
    return {
      said: () => Buffer.concat(said).toString(),
      stop: async () => {
        if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
        await ended;
      },
    };
  }

  /** A page over HTTP from the node; rejects when it is not answered. */
  get(url: string): Promise<string> {
    return this.netns.run('busybox', 'timeout', '5', 'busybox', 'wget', '-q', '-O', '-', url);
  }

  /** The cluster's own processes by name, as `trellis status` tells them. */
  async processes(): Promise<Record<string, number>> {
    const { stdout } = await this.trellis('status', '-o', 'json');
    const { components } = JSON.parse(stdout) as { components: { name: string; pid?: number }[] };
    return Object.fromEntries(
      components.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid]])),
    );
  }

  async remove(): Promise<void> {
    await this.trellis('down', '--purge');
    await this.netns.remove();
    rmSync(path.dirname(this.dataDir), { recursive: true, force: true });
  }
}

/** Never rejects for the exit code. */
export function answerOf(
  program: string,
  words: readonly string[],
  options: CommandOptions = {},
): Promise<Answer> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      words,
      { timeout: COMMAND_MS, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => resolve({ code: exitCode(error), stdout, stderr }),
    );
    if (options.input !== undefined) child.stdin?.end(options.input);
  });
}

/** Asks until the answer is as wanted; rejects with the last answer after a minute. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isWanted: (answer: T) => boolean,
  withinMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    let last: unknown;
    try {
      const answer = await ask();
      if (isWanted(answer)) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`not as wanted after ${withinMs} ms: ${show(last)}`);
    await sleep(100);
  }
}

const show = (value: unknown) => (value instanceof Error ? value.message : JSON.stringify(value));

function exitCode(error: Error | null): number {
  if (error === null) return 0;
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'number' ? code : 1;
}
