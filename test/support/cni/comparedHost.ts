// One side of the comparison: a throw-away host with its containers, worked on by the plugins of one folder.
// Guarantees: what it tells of itself holds no random name, no path of its own and no passing value.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestNetNs } from '../netns.js';
import { OUTSIDE, type ReferenceCase, UPLINK } from './cases.js';
import { type Answer, type Command, callPlugin, REFERENCE } from './plugin.js';
import { type Names, namesOf, readState, rename, type State, stateOf } from './state.js';

const RESOLV_CONF = `# names
domain a.test
search b.test c.test
nameserver 10.1.1.1
nameserver fd00::53
options ndots:2 timeout:1
`;

export interface Seen {
  /** What each call of the last step answered: the result, or the error's code. */
  readonly answers: unknown[];
  readonly host: State;
  readonly containers: State[];
  /** Reservations: name and content. */
  readonly files: Record<string, string>;
}

export class ComparedHost {
  readonly #results: Record<string, unknown>[][] = [];

  constructor(
    readonly bin: string,
    readonly work: ReferenceCase,
    readonly host: TestNetNs,
    readonly containers: readonly TestNetNs[],
    readonly directory: string,
  ) {}

  async prepare(outside: TestNetNs): Promise<void> {
    mkdirSync(this.directory, { recursive: true });
    writeFileSync(path.join(this.directory, 'resolv.conf'), RESOLV_CONF);
    for (const line of this.work.prepare ?? []) await this.host.run('sh', '-c', line);
    if (this.work.sends !== undefined) await connect(this.host, outside);
  }

  async add(): Promise<unknown[]> {
    const answers: unknown[] = [];
    for (let i = 0; i < this.containers.length; ++i) {
      const results: Record<string, unknown>[] = [];
      this.#results[i] = results;
      for (let at = 0; at < this.work.plugins.length; ++at) {
        const answer = await this.#call('ADD', i, at, results[at - 1] ?? this.work.previous);
        answers.push(told(answer));
        if (answer.code !== 0) return answers;
        results.push(JSON.parse(answer.out) as Record<string, unknown>);
      }
    }
    return answers;
  }

  /** CHECK in the order of the chain; DEL the other way round. Both get the result of the ADD. */
  async each(command: 'CHECK' | 'DEL'): Promise<unknown[]> {
    const answers: unknown[] = [];
    for (let i = 0; i < this.containers.length; ++i) {
      const order = this.work.plugins.map((_, at) => at);
      if (command === 'DEL') order.reverse();
      for (const at of order) answers.push(told(await this.#call(command, i, at, this.#results[i]?.at(-1))));
    }
    return answers;
  }

  async seen(answers: unknown[]): Promise<Seen> {
    const [host, ...containers] = await Promise.all([this.host, ...this.containers].map(readState));
    if (host === undefined) throw new Error('a side has a host');
    const named = new Map([['host', host], ...containers.map((raw, i) => [`c${i}`, raw] as const)]);
    const names = namesOf(named);
    return {
      answers: this.#plain(answers, names),
      host: stateOf(host, names),
      containers: containers.map((raw) => stateOf(raw, names)),
      files: this.#files(),
    };
  }

  /** Rules on the host that name a container, or a chain for one. */
  async rules(): Promise<string[]> {
    const lines = (await this.host.run('nft', 'list', 'ruleset')).split('\n');
    return lines.filter((line) => /(10\.|fd00:)[0-9a-f.:]+ |CNI-[0-9a-f]|CNI-[DS]N-|trellis_cni/.test(line));
  }

  #plain<T>(value: T, names: Names): T {
    const own = new Map<string, string>([[this.directory, 'directory']]);
    this.containers.forEach((ns, i) => {
      own.set(ns.path, `netns of c${i}`);
    });
    return rename(value, new Map([...own, ...names]));
  }

  #files(): Record<string, string> {
    const directory = path.join(this.directory, this.#network);
    if (!existsSync(directory)) return {};
    return Object.fromEntries(
      readdirSync(directory)
        .sort()
        .map((name) => [name, readFileSync(path.join(directory, name), 'utf8')]),
    );
  }

  get #network(): string {
    return this.work.network ?? 'net';
  }

  #call(command: Command, container: number, at: number, prevResult: object | undefined): Promise<Answer> {
    const { type, ...rest } = this.work.plugins[at] ?? {};
    const config = {
      cniVersion: this.work.version ?? '1.0.0',
      name: this.#network,
      type,
      ...rest,
      prevResult,
    };
    const text = JSON.stringify(config)
      .replace('"ipam":{"type":"host-local"', `"ipam":{"type":"host-local","dataDir":"${this.directory}"`)
      .replace('@resolvConf', path.join(this.directory, 'resolv.conf'));
    return callPlugin({
      bin: at === 0 ? this.bin : REFERENCE,
      plugin: String(type),
      command,
      host: this.host.path,
      netns: this.containers[container]?.path ?? '',
      containerId: `c${container}`,
      config: text,
      ...(this.work.ifName === undefined ? {} : { ifName: this.work.ifName }),
      ...(this.work.args === undefined ? {} : { args: this.work.args }),
    });
  }
}

/** A result as it is; of an error its code, since each side has its own words. */
function told({ code, out }: Answer): unknown {
  const answer = out === '' ? null : (JSON.parse(out) as { code?: number });
  return code === 0 ? answer : { failed: answer?.code };
}

async function connect(host: TestNetNs, outside: TestNetNs): Promise<void> {
  const line = `ip link add up0 type veth peer out0 netns ${outside.name} && ip link set up0 up &&
    ip addr add ${UPLINK.v4}/24 dev up0 && ip addr add ${UPLINK.v6}/64 dev up0 nodad`;
  await host.run('sh', '-c', line);
  const back = `ip link set out0 up && ip addr add ${OUTSIDE.v4}/24 dev out0 && ip addr add ${OUTSIDE.v6}/64 dev out0 nodad`;
  await outside.run('sh', '-c', back);
}

const RECEIVER = `const s = require('dgram').createSocket('udp6');
s.on('message', (_, from) => { console.log(from.address.replace('::ffff:', '')); process.exit(); });
s.bind(999, () => console.log('up'));
setTimeout(() => process.exit(1), 10000);`;

/** The source address that a packet from the container has outside. */
export async function sourceSeen(container: TestNetNs, outside: TestNetNs, to: string): Promise<string> {
  const receiver = execFile('nsenter', [`--net=${outside.path}`, process.execPath, '-e', RECEIVER]);
  try {
    const lines: string[] = [];
    receiver.stdout?.on('data', (text: string) => lines.push(...text.trim().split('\n')));
    const ended = new Promise((resolve) => receiver.once('close', resolve));
    await new Promise((resolve) => receiver.stdout?.once('data', resolve));
    await container.run('bash', '-c', `for i in 1 2 3; do echo hello > /dev/udp/${to}/999; sleep 0.2; done`);
    await ended;
    return lines[1] ?? 'nothing';
  } finally {
    receiver.kill('SIGKILL');
  }
}
