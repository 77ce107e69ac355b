// `trellis kubelet` as a process that a test can kill, with an apiserver behind a door that the test can shut.
// Guarantees: stop() ends the process and the door; containers are the node's, and go with it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import {
  type AddressInfo,
  connect,
  createServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import path from 'node:path';
import type { CriNode } from '../criNode.js';
import type { TestApiServer } from '../testApiServer.js';
import { eventually } from '../testCluster.js';

/** Hands connections to the same port inside on to a socket in the file system. */
const RELAY = `
const net = require('node:net');
const [, socket, port] = process.argv;
net.createServer((near) => {
  const far = net.connect(socket);
  for (const one of [near, far]) {
    one.on('error', () => one.destroy());
    one.on('close', () => { near.destroy(); far.destroy(); });
  }
  near.pipe(far).pipe(near);
}).listen(Number(port), '127.0.0.1', () => console.log('listening'));
`;

export const KUBELET_MAIN = path.resolve('dist/src/cli/main.js');

export class KubeletProcess {
  readonly #flags: readonly string[];
  readonly #door: LocalPort;

  #child: ChildProcess | undefined;
  #said: Buffer[] = [];

  private constructor(
    readonly manifests: string,
    flags: readonly string[],
    door: LocalPort,
  ) {
    this.#flags = flags;
    this.#door = door;
  }

  static async make(node: CriNode, api: TestApiServer, more: object = {}): Promise<KubeletProcess> {
    const { directory, cgroupParent } = node.node;
    const at = (name: string) => path.join(directory, name);
    const door = await LocalPort.open(api.server.port);
    mkdirSync(at('manifests'), { recursive: true });
    writeFileSync(at('kubeconfig'), kubeconfig(api, door.port), { mode: 0o600 });
    writeFileSync(
      at('kubelet.json'),
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        port: 0,
        healthzPort: 0,
        address: '127.0.0.1',
        staticPodPath: at('manifests'),
        podLogsDir: at('logs'),
        // It may run in the network of whoever runs the test.
        makeIPTablesUtilChains: false,
        cgroupRoot: cgroupParent,
        containerRuntimeEndpoint: `unix://${at('containerd.sock')}`,
        ...more,
      }),
    );
    const flags = [
      '--kubeconfig',
      at('kubeconfig'),
      '--config',
      at('kubelet.json'),
      '--root-dir',
      at('kubelet'),
    ];
    const own = ['--cert-dir', at('pki'), '--hostname-override', 'node-1', '--node-ip', '127.0.0.1'];
    return new KubeletProcess(at('manifests'), [...flags, ...own], door);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  start(): void {
    // With the nursery that the node's agent has, so that memory says the same.
    const child = spawn(
      process.execPath,
      ['--max-semi-space-size=2', KUBELET_MAIN, 'kubelet', ...this.#flags],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => this.#said.push(chunk));
    this.#child = child;
  }

  /**
   * In the namespaces of the node, where its containers see what it mounts and it reaches their addresses; ends with the
   * node. The apiserver is on the network of the test: a socket in the node's directory leads there.
   */
  async startWithin({ node }: CriNode): Promise<void> {
    const socket = path.join(node.directory, 'apiserver.sock');
    await this.#door.openAt(socket);
    const relay = node.startDaemon(process.execPath, '-e', RELAY, socket, String(this.#door.port));
    await eventually(
      async () => relay.output(),
      (said) => said.includes('listening'),
    );
    const inside = node.startDaemon(process.execPath, KUBELET_MAIN, 'kubelet', ...this.#flags);
    this.output = () => inside.output().slice(-4000);
  }

  /** What it said, for whoever looks into a failure. */
  output = (): string => Buffer.concat(this.#said).toString().slice(-4000);

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  shutApiserver = (): void => this.#door.shut();
  openApiserver = (): void => this.#door.reopen();

  async stop(): Promise<void> {
    await this.kill();
    await this.#door.close();
  }
}

/** Hands connections through, until it is told not to. */
class LocalPort {
  readonly #target: number;

  readonly #sockets = new Set<Socket>();
  readonly #servers: Server[] = [];
  #isShut = false;

  private constructor(target: number) {
    this.#target = target;
  }

  static async open(target: number): Promise<LocalPort> {
    const door = new LocalPort(target);
    await door.#listen({ port: 0, host: '127.0.0.1' });
    return door;
  }

  /** At a path as well. */
  openAt(socket: string): Promise<void> {
    return this.#listen({ path: socket });
  }

  async #listen(place: ListenOptions): Promise<void> {
    const server = createServer((near) => this.#lead(near));
    server.listen(place);
    await once(server, 'listening');
    this.#servers.push(server);
  }

  #lead(near: Socket): void {
    if (this.#isShut) {
      near.destroy();
      return;
    }
    const far = connect(this.#target, '127.0.0.1');
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }

  get port(): number {
    const [first] = this.#servers.map((server) => server.address() as AddressInfo);
    return first?.port ?? 0;
  }

  shut(): void {
    this.#isShut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  reopen(): void {
    this.#isShut = false;
  }

  async close(): Promise<void> {
    this.shut();
    for (const server of this.#servers) {
      const closed = once(server, 'close');
      server.close();
      await closed;
    }
  }
}

function kubeconfig({ pki, admin }: TestApiServer, port: number): string {
  const data = (text: string) => Buffer.from(text).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [
      {
        name: 'test',
        cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': data(pki.ca) },
      },
    ],
    users: [
      {
        name: 'test',
        user: { 'client-certificate-data': data(admin.cert), 'client-key-data': data(admin.key) },
      },
    ],
  });
}
