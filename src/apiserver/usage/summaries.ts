// What the kubelets measured, asked for when somebody wants to know.
// Guarantees: a kubelet is asked once for all who ask within a moment; one that does not answer delays nobody for long.

import { collectBytes } from '../../base/collectBytes.js';
import type { ServerContext } from '../serverContext.js';
import { askKubelet, kubeletOnNode } from '../subresources/kubelet.js';

/** Of stats v1alpha1, what is used here. */
interface NodeSummary {
  readonly node?: Use;
  readonly pods?: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string };
    readonly containers?: readonly (Use & { readonly name: string })[];
  }[];
}

export interface Use {
  readonly cpu?: { readonly time?: string; readonly usageNanoCores?: number };
  readonly memory?: { readonly workingSetBytes?: number };
}

const FRESH_MS = 5_000;
const PATIENCE_MS = 5_000;
const ANSWER = {
  most: 32 << 20,
  tooLarge: (most: number) => new RangeError(`an answer of more than ${most} bytes`),
};

export class Summaries {
  readonly #server: ServerContext;

  readonly #held = new Map<
    string,
    { readonly asked: number; readonly answer: Promise<NodeSummary | undefined> }
  >();

  constructor(server: ServerContext) {
    this.#server = server;
  }

  /** Undefined when its kubelet does not tell. */
  of(node: string): Promise<NodeSummary | undefined> {
    const now = this.#server.now();
    const held = this.#held.get(node);
    if (held !== undefined && now - held.asked < FRESH_MS) return held.answer;
    for (const [name, { asked }] of this.#held) if (now - asked >= FRESH_MS) this.#held.delete(name);
    const answer = this.#ask(node).catch((error: unknown) => {
      this.#server.log.debug('a kubelet did not tell what its pods use', { node, error });
      return undefined;
    });
    this.#held.set(node, { asked: now, answer });
    return answer;
  }

  async #ask(node: string): Promise<NodeSummary> {
    const address = kubeletOnNode(this.#server, node);
    const sent = { method: 'GET', path: '/stats/summary', headers: {}, upgrade: false };
    const response = await askKubelet(this.#server, address, {
      ...sent,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const bytes = Buffer.isBuffer(response.body) ? response.body : await collectBytes(response.body, ANSWER);
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return JSON.parse(bytes.toString());
  }
}
