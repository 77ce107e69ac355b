// Asks a server /livez all the time and tells how long the longest answer took: how long one request kept others waiting.
// Guarantees: a thread of its own, so that the work of the process that attacks is not counted.
import { once } from 'node:events';
import https from 'node:https';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { ClientTls } from '../apiserver/place.js';

const EVERY_MS = 10;

interface Asked {
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
    const worker = new Worker(new URL(import.meta.url), { workerData: asked });
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

if (!isMainThread) {
  const { tls, port, path } = workerData as Asked;
  const agent = new https.Agent({ ...tls, keepAlive: true, maxSockets: 1 });
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const request = https.get({ agent, host: '127.0.0.1', port, path }, (response) => {
        response.resume().once('end', resolve);
      });
      request.once('error', reject);
    });
  let taken: number[] = [];
  let isWanted = false;
  parentPort?.on('message', () => {
    isWanted = true;
  });
  await ask();
  parentPort?.postMessage([]);
  for (;;) {
    const started = performance.now();
    await ask();
    taken.push(performance.now() - started);
    if (isWanted) {
      isWanted = false;
      parentPort?.postMessage(taken);
      taken = [];
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, started + EVERY_MS - performance.now())));
  }
}
