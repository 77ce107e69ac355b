// Pods that serve HTTP, HTTPS, TCP and gRPC as a test tells them to, and tell what they were asked.
// Guarantees: the test speaks to them from the node, over the pods' network.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { V1Container, V1PodSpec } from '../../../src/api/gen/types.js';
import { eventually } from '../testCluster.js';
import { makeTestPki } from '../testPki.js';
import { shell } from './nodePods.js';
import type { PodNode } from './podNode.js';

const PROGRAM = path.resolve('test/support/kubelet/servingPod.mjs');

interface Asked {
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly isSecure?: boolean;
}

export class ServingPods {
  readonly #pods: PodNode;
  readonly #certificate: string;

  private constructor(pods: PodNode, certificate: string) {
    this.#pods = pods;
    this.#certificate = certificate;
  }

  static async on(pods: PodNode): Promise<ServingPods> {
    const { cert, key } = await (await makeTestPki()).server();
    const file = pods.at('serving.pem');
    writeFileSync(file, `${key}${cert}`, { mode: 0o600 });
    return new ServingPods(pods, file);
  }

  /**
   * A pod with one such container, and its answers until it is told others. The image has no Node; the node's own serves,
   * below its root.
   */
  spec(
    answers: Readonly<Record<string, readonly number[]>>,
    more: Partial<V1Container>,
    spec: Partial<V1PodSpec> = {},
  ): Partial<V1PodSpec> {
    const words = [process.execPath, PROGRAM, this.#certificate, `'${JSON.stringify(answers)}'`];
    return {
      volumes: [{ name: 'host', hostPath: { path: '/' } }],
      containers: [
        shell(`cd /host && exec busybox chroot /host ${words.join(' ')}`, {
          ports: [
            { name: 'web', containerPort: 8080 },
            { name: 'late', containerPort: 7000 },
          ],
          volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }],
          ...more,
        }),
      ],
      ...spec,
    };
  }

  /** A page of the pod, once it has one. */
  ask(pod: string, page: string): Promise<string> {
    return eventually(
      async () => {
        const ip = (await this.#pods.get(pod))?.status.podIP;
        if (ip === undefined) throw new Error(`${pod} has no address`);
        return this.#pods.node.node.run('busybox', 'wget', '-q', '-O', '-', `http://${ip}:8080${page}`);
      },
      () => true,
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.#pods.said()}`);
    });
  }

  /** What the pod was asked on a path, once it is as wanted. */
  asked(pod: string, at: string, isWanted: (asked: readonly Asked[]) => boolean): Promise<readonly Asked[]> {
    return eventually(
      async () => (JSON.parse(await this.ask(pod, '/journal')) as Asked[]).filter((one) => one.path === at),
      isWanted,
    );
  }
}
