// A throw-away node for one sample: a host namespace, pod namespaces, and a shell in the host that starts plugins.
// Guarantees: the clock holds the plugins' own life (start, work, end) and nothing of Node; all is gone afterwards.
//
// The shell is there before the clock starts and is handed the whole list of calls at once; it forks, executes and
// waits, as any runtime does. A start from Node costs several times what our plugin needs and would hide it.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { benchNetNs, removeNetNs } from '../lib/tool.js';

export interface NodeOptions {
  /** Where the plugins are. */
  readonly plugins: string;
  readonly pods: number;
  readonly ipMasq: boolean;
}

export class BenchNode {
  private constructor(
    private readonly options: NodeOptions,
    private readonly directory: string,
    private readonly host: string,
    private readonly pods: readonly string[],
    private readonly shell: ChildProcessWithoutNullStreams,
  ) {}

  static async make(options: NodeOptions): Promise<BenchNode> {
    const host = await benchNetNs();
    const route = await openRoute(host);
    await route.apply([{ do: 'change', kind: 'link', name: 'lo', up: true }]);
    route.close();
    const pods: string[] = [];
    for (let i = 0; i < options.pods; i++) pods.push(await benchNetNs());
    const directory = mkdtempSync(join(tmpdir(), 'trellis-bench-cni-'));
    writeFileSync(join(directory, 'add.json'), JSON.stringify(configuration(options, directory)));
    const shell = spawn('nsenter', [`--net=${host}`, 'sh', '-s'], { stdio: 'pipe', cwd: directory });
    const node = new BenchNode(options, directory, host, pods, shell);
    await node.do(':'); // the shell is there now
    return node;
  }

  /** ADD for every pod, one after another or all at once. */
  add(how: 'one by one' | 'at once'): Promise<void> {
    const end = how === 'at once' ? ' &' : '';
    const calls = this.pods.map(
      (_, i) => `${this.call('ADD', i)} <add.json >${i}.result || echo "${i} failed"`,
    );
    return this.do(calls.map((call) => `{ ${call}; }${end}`).join('\n') + (end && '\nwait'));
  }

  /** Writes what a runtime hands over with DEL: the configuration with the result of ADD. */
  prepareDel(): void {
    for (const i of this.pods.keys()) {
      const prevResult = JSON.parse(readFileSync(join(this.directory, `${i}.result`), 'utf8'));
      const config = { ...configuration(this.options, this.directory), prevResult };
      writeFileSync(join(this.directory, `${i}.del.json`), JSON.stringify(config));
    }
  }

  /** DEL for every pod, one after another. */
  del(): Promise<void> {
    return this.do(
      this.pods.map((_, i) => `${this.call('DEL', i)} <${i}.del.json || echo "${i} failed"`).join('\n'),
    );
  }

  /** The most memory that ADD and DEL of the first pod had resident, in bytes, as wait4 tells /usr/bin/time. */
  async peakMemory(): Promise<number> {
    await this.do(`${this.call('ADD', 0, '/usr/bin/time -o add.kb -f %M')} <add.json >0.result`);
    this.prepareDel();
    await this.do(`${this.call('DEL', 0, '/usr/bin/time -o del.kb -f %M')} <0.del.json`);
    const kilobytes = (name: string) => Number(readFileSync(join(this.directory, name), 'utf8'));
    return Math.max(kilobytes('add.kb'), kilobytes('del.kb')) * 1024;
  }

  async remove(): Promise<void> {
    this.shell.stdin.end();
    if (this.shell.exitCode === null) await once(this.shell, 'exit');
    for (const path of [...this.pods, this.host]) await removeNetNs(path);
    rmSync(this.directory, { recursive: true });
  }

  private call(command: 'ADD' | 'DEL', pod: number, before = ''): string {
    const { plugins } = this.options;
    const env = `CNI_COMMAND=${command} CNI_CONTAINERID=pod${pod} CNI_NETNS=${this.pods[pod]} CNI_IFNAME=eth0`;
    return `${env} CNI_PATH=${plugins} ${before} ${plugins}/bridge`;
  }

  /** Runs a script in the shell; nothing may be said on the way to "done". */
  private async do(script: string): Promise<void> {
    const said: Buffer[] = [];
    const { stdout, stderr, stdin } = this.shell;
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer) => {
        said.push(chunk);
        if (chunk.toString().endsWith('done\n')) resolve();
      };
      const end = () => reject(new Error(`the shell ended: ${Buffer.concat(said)}`));
      stdout.removeAllListeners('data').on('data', hear);
      stderr.removeAllListeners('data').on('data', (chunk: Buffer) => said.push(chunk));
      this.shell.removeAllListeners('exit').once('exit', end);
      // One compound command, so that the shell has read all of it before it starts.
      stdin.write(`{\n${script}\necho done\n}\n`);
    });
    this.shell.removeAllListeners('exit');
    const words = Buffer.concat(said).toString();
    if (words !== 'done\n') throw new Error(`${this.options.plugins}: ${words}`);
  }
}

const configuration = ({ ipMasq }: NodeOptions, directory: string) => ({
  cniVersion: '1.0.0',
  name: 'bench',
  type: 'bridge',
  bridge: 'cni0',
  isGateway: true,
  ipMasq,
  ipam: {
    type: 'host-local',
    dataDir: join(directory, 'addresses'),
    ranges: [[{ subnet: '10.99.0.0/16' }]],
    routes: [{ dst: '0.0.0.0/0' }],
  },
});
