// A pod `web` of shell scripts in a real containerd, behind a kubelet's server on our loopback: for exec, attach, logs and
// port-forward.
// Guarantees: everything is closed by close(), also what a failed start has left.
import net from 'node:net';
import path from 'node:path';
import { silentLog } from '../../../src/api/log.js';
import type { RuntimeService } from '../../../src/cri/runtime.js';
import type { Pod } from '../../../src/kubelet/ports.js';
import { type KubeletServer, openKubeletServer } from '../../../src/kubelet/server/server.js';
import { CriNode, containerOf } from '../criNode.js';
import type { TestPki } from '../testPki.js';
import { type LocalPort, openPassage } from './kubectlServer.js';
import { podWith } from './podparts.js';

interface Script {
  readonly name: string;
  readonly script: string;
  /** Its standard input stays open. */
  readonly stdin?: boolean;
}

export class StreamingNode {
  readonly #node: CriNode;
  readonly #passages = new Map<string, LocalPort>();
  #server: KubeletServer | undefined;

  private constructor(
    node: CriNode,
    readonly pod: Pod,
  ) {
    this.#node = node;
  }

  static async start(pki: TestPki, scripts: readonly Script[]): Promise<StreamingNode> {
    const node = await CriNode.start();
    const containers = scripts.map(({ name, stdin = false }) => ({ name, image: 'busybox', stdin }));
    const { uid } = node.pod('web').metadata;
    const pod = podWith(
      { containers },
      { name: 'web', namespace: 'default', uid, status: { phase: 'Running' } },
    );
    const made = new StreamingNode(node, pod);
    try {
      await made.#startContainers(scripts);
      await made.#serve(pki);
    } catch (error) {
      await made.close(); // nobody else has it
      throw error;
    }
    return made;
  }

  /** Of the kubelet. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  async #startContainers(scripts: readonly Script[]): Promise<void> {
    const { runtime } = this.#node.cri;
    const config = this.#node.pod('web');
    const sandbox = await runtime.runPodSandbox(config);
    for (const { name, script, stdin = false } of scripts) {
      const container = { ...containerOf(name, ['/bin/sh', '-c', script]), stdin };
      const labels = { ...container.labels, 'io.kubernetes.pod.uid': config.metadata.uid };
      await runtime.startContainer(await runtime.createContainer(sandbox, { ...container, labels }, config));
    }
  }

  async #serve(pki: TestPki): Promise<void> {
    this.#server = await openKubeletServer({
      address: '127.0.0.1',
      port: 0,
      tls: { ...(await pki.server()), clientCa: pki.ca },
      access: { authenticate: async ({ certificate }) => certificate, authorize: async () => true },
      runtime: this.#reachable(this.#node.cri.runtime),
      checkpointsDir: path.join(this.#node.node.directory, 'checkpoints'),
      pods: { list: () => [this.pod], get: (_, name) => (name === 'web' ? this.pod : undefined) },
      log: silentLog,
    });
  }

  /** The streaming server listens on the node's loopback, which is not ours. */
  #reachable(runtime: RuntimeService): RuntimeService {
    const moved = async (asked: Promise<string>) => {
      const url = new URL(await asked);
      const passage =
        this.#passages.get(url.port) ?? (await openPassage(this.#node.host.path, Number(url.port)));
      this.#passages.set(url.port, passage);
      url.host = `127.0.0.1:${passage.port}`;
      return url.href;
    };
    return Object.assign(Object.create(runtime) as RuntimeService, {
      exec: (request: Parameters<RuntimeService['exec']>[0]) => moved(runtime.exec(request)),
      attach: (request: Parameters<RuntimeService['attach']>[0]) => moved(runtime.attach(request)),
      portForward: (id: string, ports: readonly number[]) => moved(runtime.portForward(id, ports)),
    });
  }

  async close(): Promise<void> {
    await this.#server?.close();
    for (const passage of this.#passages.values()) await passage.close();
    await this.#node.stop();
  }
}

/** What a server on the port answers to a text. */
export const echo = (port: number, text: string) =>
  new Promise<string>((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('error', reject);
    socket.once('data', (bytes) => {
      socket.destroy();
      resolve(bytes.toString());
    });
  });
