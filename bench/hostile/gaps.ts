// Asks a server /livez all the time and tells how long the longest answer took: how long one request kept others waiting.
// Guarantees: a thread of its own, so that the work of the process that attacks is not counted.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ClientTls } from '../apiserver/testbed.js';

export const EVERY_MS = 10;

export interface Asked {
  readonly tls: ClientTls;
  readonly port: number;
  readonly path: string;
}

export class Gaps {
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  static async open(asked: Asked): Promise<Gaps> {
    const worker = new Worker(new URL('./gapsThread.js', import.meta.url), { workerData: asked });
    await once(worker, 'message');
    return new Gaps(worker);
  }

  /** How long each question took since the last call, in milliseconds; at least one, the newest. */
  async take(): Promise<number[]> {
    this.#worker.postMessage('take');
    const [taken] = (await once(this.#worker, 'message')) as [number[]];
    return taken;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
