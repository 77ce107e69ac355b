// A host with an uplink to another machine, containers on its bridge, and our portmap plugin run on it.
// Guarantees: servers and namespaces are gone when a test ends; addresses are stored only in the directory given.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { netNsPerTest, TestNetNs } from './netns.js';

export const BIN = path.resolve(import.meta.dirname, '../../dist/cni');
const FAULTY = path.resolve(import.meta.dirname, '../../build/cni-faults');
export const HOST = { v4: '192.0.2.1', other4: '192.0.2.7', v6: '2001:db8::1', bridge4: '10.88.0.1' };
export const MACHINE = { v4: '192.0.2.2', v6: '2001:db8::2' };

interface Mapping {
  hostPort: number;
  containerPort: number;
  protocol?: string;
  hostIP?: string;
}

interface Container {
  readonly id: string;
  readonly ns: TestNetNs;
  readonly result: object;
}

interface Answer {
  readonly code: number;
  readonly output: string;
}

/** Says which container answers, and the address it saw the question come from. */
const SERVER = `
const name = process.argv[1];
const plain = (address) => address.replace('::ffff:', '');
const udp = require('dgram').createSocket('udp6');
udp.on('message', (_, from) => udp.send(name + ' ' + plain(from.address), from.port, from.address));
require('net').createServer((s) => { s.on('error', () => {}); s.end(name + ' ' + plain(s.remoteAddress)); })
  .listen(80, '::', () => udp.bind(53, '::', () => console.log('up')));
setTimeout(() => process.exit(), 30000);`;

const CLIENT = `
const [protocol, address, port, from] = process.argv.slice(1);
const end = (text) => { process.stdout.write(String(text)); process.exit(); };
setTimeout(() => end('silence'), 1500);
if (protocol === 'tcp') {
  require('net').connect(Number(port), address).on('data', end).on('error', (error) => end(error.code));
} else {
  const socket = require('dgram').createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const ask = () => socket.send('?', Number(port), address, () => {});
  socket.on('message', end).on('error', (error) => end(error.code)).bind(Number(from ?? 0), () => { ask(); setInterval(ask, 300); });
}`;

/** Asks from inside a namespace; resolves with the answer, an error's code, or "silence". */
export const ask = (from: TestNetNs, protocol: string, address: string, port: number, source?: number) =>
  from.run(
    process.execPath,
    '-e',
    CLIENT,
    protocol,
    address,
    String(port),
    ...(source ? [String(source)] : []),
  );

export class PortmapHost {
  readonly #namespaces: ReturnType<typeof netNsPerTest>;
  readonly #dataDir: string;

  readonly #servers: ChildProcess[] = [];
  private constructor(
    readonly ns: TestNetNs,
    readonly machine: TestNetNs,
    namespaces: ReturnType<typeof netNsPerTest>,
    dataDir: string,
  ) {
    this.#namespaces = namespaces;
    this.#dataDir = dataDir;
  }

  static async make(namespaces: ReturnType<typeof netNsPerTest>, dataDir: string): Promise<PortmapHost> {
    const [host, machine] = [await namespaces.make(), await namespaces.make()];
    // Addresses that are still being checked for duplicates do not answer.
    const prelude = 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up';
    for (const ns of [host, machine]) await ns.run('sh', '-c', prelude);
    await host.run('ip', 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', machine.name);
    for (const address of [`${HOST.v4}/24`, `${HOST.other4}/24`, `${HOST.v6}/64`])
      await host.run('ip', 'addr', 'add', address, 'dev', 'up0');
    for (const address of [`${MACHINE.v4}/24`, `${MACHINE.v6}/64`])
      await machine.run('ip', 'addr', 'add', address, 'dev', 'eth0');
    await host.run('ip', 'link', 'set', 'up0', 'up');
    await machine.run('ip', 'link', 'set', 'eth0', 'up');
    return new PortmapHost(host, machine, namespaces, dataDir);
  }

  /** Ends the servers. */
  close(): void {
    for (const server of this.#servers.splice(0)) server.kill('SIGKILL');
  }

  /** A container on the bridge, in which port 80 (TCP) and port 53 (UDP) answer. */
  async container(id: string): Promise<Container> {
    const ns = await this.#namespaces.make();
    await ns.run('sh', '-c', 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad');
    const { output } = await this.run('bridge', 'ADD', id, {
      bridge: 'br0',
      isDefaultGateway: true,
      hairpinMode: true, // where br_netfilter is loaded, a container reaches itself only so
      ipam: {
        type: 'host-local',
        dataDir: this.#dataDir,
        ranges: [[{ subnet: '10.88.0.0/24' }], [{ subnet: 'fd00:88::/64' }]],
      },
      netns: ns.path,
    });
    const server = spawn('nsenter', [`--net=${ns.path}`, process.execPath, '-e', SERVER, id]);
    this.#servers.push(server);
    await once(server.stdout, 'data');
    return { id, ns, result: JSON.parse(output) as object };
  }

  /** Runs portmap; `conf` is added to the configuration. */
  portmap(
    command: string,
    container: Pick<Container, 'id' | 'result'>,
    mappings: readonly (Mapping | Readonly<Record<string, unknown>>)[],
    conf: object = {},
  ) {
    return this.run('portmap', command, container.id, {
      runtimeConfig: { portMappings: mappings },
      prevResult: container.result,
      ...conf,
    });
  }

  run(
    type: string,
    command: string,
    id: string,
    { netns = '/run/netns/none', fault, ...conf }: { netns?: string; fault?: string; [key: string]: unknown },
  ): Promise<Answer> {
    const env = {
      ...process.env,
      CNI_COMMAND: command,
      CNI_CONTAINERID: id,
      CNI_NETNS: netns,
      CNI_IFNAME: 'eth0',
      CNI_PATH: BIN,
      ...(fault && { TRELLIS_CNI_FAULT: fault }),
    };
    return new Promise((resolve) => {
      const child = execFile(
        'nsenter',
        [`--net=${this.ns.path}`, path.join(fault === undefined ? BIN : FAULTY, type)],
        { env },
        (error, output) => {
          resolve({ code: error === null ? 0 : Number(error.code ?? -1), output });
        },
      );
      child.stdin?.end(JSON.stringify({ cniVersion: '1.1.0', name: 'net', type, ...conf }));
    });
  }

  /** What is ours in the host's firewall, whichever back end made it. */
  async traces(): Promise<string[]> {
    const rules = await this.ns.run('nft', 'list', 'ruleset');
    return rules.split('\n').filter((line) => /trellis/i.test(line));
  }
}
