// A throw-away node for one sample: a host namespace, pod namespaces, a folder for addresses and results.
// Guarantees: all of it is gone after remove(); DEL gets what a runtime hands over, the configuration with ADD's result.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { benchNetNs, removeNetNs } from '../lib/tool.js';
import { type Call, type Outcome, spawnCalls } from './spawner.js';

export interface NodeOptions {
  /** Where the plugins are. */
  readonly plugins: string;
  readonly pods: number;
  readonly ipMasq: boolean;
}

export class BenchNode {
  readonly #options: NodeOptions;
  readonly #directory: string;
  readonly #host: string;
  readonly #pods: readonly string[];

  private constructor(options: NodeOptions, directory: string, host: string, pods: readonly string[]) {
    this.#options = options;
    this.#directory = directory;
    this.#host = host;
    this.#pods = pods;
  }

  static async make(options: NodeOptions): Promise<BenchNode> {
    const host = await benchNetNs();
    const route = await openRoute(host);
    await route.apply([{ do: 'change', kind: 'link', name: 'lo', up: true }]);
    route.close();
    const pods: string[] = [];
    for (let i = 0; i < options.pods; i++) pods.push(await benchNetNs());
    const directory = mkdtempSync(join(tmpdir(), 'trellis-bench-cni-'));
    writeFileSync(join(directory, 'add.json'), JSON.stringify(configuration(options, directory)));
    return new BenchNode(options, directory, host, pods);
  }

  /** ADD for every pod. */
  add(how: 'one' | 'all'): Promise<Outcome[]> {
    return this.#spawn(how, (i) => ({ command: 'ADD', stdin: 'add.json', stdout: `${i}.result` }));
  }

  /** DEL for every pod that was added, one after another. */
  del(): Promise<Outcome[]> {
    for (const i of this.#pods.keys()) {
      const prevResult = JSON.parse(readFileSync(join(this.#directory, `${i}.result`), 'utf8'));
      const config = { ...configuration(this.#options, this.#directory), prevResult };
      writeFileSync(join(this.#directory, `${i}.del.json`), JSON.stringify(config));
    }
    return this.#spawn('one', (i) => ({ command: 'DEL', stdin: `${i}.del.json`, stdout: 'del.out' }));
  }

  async remove(): Promise<void> {
    for (const path of [...this.#pods, this.#host]) await removeNetNs(path);
    rmSync(this.#directory, { recursive: true });
  }

  #spawn(
    how: 'one' | 'all',
    describe: (pod: number) => Pick<Call, 'command' | 'stdin' | 'stdout'>,
  ): Promise<Outcome[]> {
    const calls = this.#pods.map((netns, i) => {
      const { command, stdin, stdout } = describe(i);
      const files = { stdin: join(this.#directory, stdin), stdout: join(this.#directory, stdout) };
      return { command, containerId: `pod${i}`, netns, ...files };
    });
    return spawnCalls(how, { host: this.#host, plugins: this.#options.plugins, calls });
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
