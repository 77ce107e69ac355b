// `trellis kubelet` as a process that a test can kill, with an apiserver behind a door that the test can shut.
// Guarantees: stop() ends the process and the door; containers are the node's, and go with it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { CriNode } from '../criNode.js';
import type { TestApiServer } from '../testApiServer.js';

export const KUBELET_MAIN = path.resolve('dist/src/cli/main.js');

export class KubeletProcess {
  private child: ChildProcess | undefined;
  private said: Buffer[] = [];

  private constructor(
    readonly manifests: string,
    private readonly flags: readonly string[],
    private readonly door: Door,
  ) {}

  static async make(node: CriNode, api: TestApiServer, more: object = {}): Promise<KubeletProcess> {
    const { directory, cgroupParent } = node.node;
    const at = (name: string) => path.join(directory, name);
    const door = await Door.open(api.server.port);
    mkdirSync(at('manifests'), { recursive: true });
    writeFileSync(at('kubeconfig'), kubeconfig(api, door.port), { mode: 0o600 });
    writeFileSync(
      at('kubelet.json'),
      JSON.stringify({
        ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
        ...{
          port: 0,
          healthzPort: 0,
          address: '127.0.0.1',
          staticPodPath: at('manifests'),
          podLogsDir: at('logs'),
        },
        ...{ cgroupRoot: cgroupParent, containerRuntimeEndpoint: `unix://${at('containerd.sock')}` },
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
    return this.child?.pid ?? 0;
  }

  start(): void {
    // With the nursery that the node's agent has, so that memory says the same.
    const child = spawn(
      process.execPath,
      ['--max-semi-space-size=2', KUBELET_MAIN, 'kubelet', ...this.flags],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => this.said.push(chunk));
    this.child = child;
  }

  /** In the mount and process namespaces of the node, where its containers see what it mounts; ends with the node. */
  startWithin({ node }: CriNode): void {
    const inside = node.startDaemonOnOurNetwork(process.execPath, KUBELET_MAIN, 'kubelet', ...this.flags);
    this.output = () => inside.output().slice(-4000);
  }

  /** What it said, for whoever looks into a failure. */
  output = (): string => Buffer.concat(this.said).toString().slice(-4000);

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  shutApiserver = (): void => this.door.shut();
  openApiserver = (): void => this.door.reopen();

  async stop(): Promise<void> {
    await this.kill();
    await this.door.close();
  }
}

/** Hands connections through, until it is told not to. */
class Door {
  private readonly sockets = new Set<Socket>();
  private isShut = false;

  private constructor(private readonly server: Server) {}

  static async open(target: number): Promise<Door> {
    const server = createServer();
    const door = new Door(server);
    server.on('connection', (near) => {
      if (door.isShut) return near.destroy();
      const far = connect(target, '127.0.0.1');
      for (const socket of [near, far]) {
        door.sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => {
          door.sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
      return undefined;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return door;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  shut(): void {
    this.isShut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  reopen(): void {
    this.isShut = false;
  }

  async close(): Promise<void> {
    this.shut();
    const closed = once(this.server, 'close');
    this.server.close();
    await closed;
  }
}

function kubeconfig({ pki, admin }: TestApiServer, port: number): string {
  const data = (text: string) => Buffer.from(text).toString('base64');
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
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
