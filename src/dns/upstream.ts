// Sockets to one name server of the outside, shared by many questions at a time.
// Guarantees: at most MAX_SOCKETS are open and MAX_WAITING questions under way; each socket has a port that the kernel chose
// at random and is replaced after LIFE_MS or LIFE_QUESTIONS; no two questions of a socket have the same id, which is random.
// One that left several questions in a row unanswered rests: after each REST_MS one question finds out whether it is back.
import { randomInt } from 'node:crypto';
import dgram from 'node:dgram';
import { isIP } from 'node:net';

export const MAX_SOCKETS = 16;
export const MAX_WAITING = 4096;
const LIFE_MS = 10_000;
const LIFE_QUESTIONS = 2_000;
const IDS = 0x10000;
/** One may be lost on the way. */
const FAILURES = 2;
export const REST_MS = 10_000;

export interface Asked<T> {
  encode(id: number): Buffer;
  /** Undefined when these bytes are no answer to it. */
  read(bytes: Buffer, id: number): T | undefined;
}

interface Waiting {
  read(bytes: Buffer): void;
  reject(error: Error): void;
}

interface Shared {
  readonly socket: dgram.Socket;
  readonly connected: Promise<void>;
  readonly waiting: Map<number, Waiting>;
  readonly born: number;
  questions: number;
  isBroken: boolean;
}

export class Upstream {
  readonly #server: string;
  readonly #port: number;
  readonly #now: () => number;
  readonly #sockets = new Set<Shared>();
  #waiting = 0;
  #failures = 0;
  #restsUntil = 0;

  constructor({ server, port, now = Date.now }: { server: string; port: number; now?: () => number }) {
    this.#server = server;
    this.#port = port;
    this.#now = now;
  }

  /** Sockets that are open now. */
  get sockets(): number {
    return this.#sockets.size;
  }

  /** Better asked after the others. */
  get isResting(): boolean {
    return this.#failures >= FAILURES && this.#now() < this.#restsUntil;
  }

  /** Rejects when there is no answer in time, when too much is asked already, or when the server cannot be reached. */
  async ask<T>(asked: Asked<T>, timeoutMs: number): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw new Error('too many questions are under way');
    // Until it answers, nobody else tries it.
    if (this.#failures >= FAILURES) this.#restsUntil = this.#now() + REST_MS;
    const shared = this.#choose();
    const id = freeId(shared.waiting);
    this.#waiting += 1;
    shared.questions += 1;
    let timer: NodeJS.Timeout | undefined;
    try {
      const answer = await new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
        const read = (bytes: Buffer) => {
          const answer = asked.read(bytes, id);
          if (answer !== undefined) resolve(answer);
        };
        shared.waiting.set(id, { read, reject });
        const send = () => shared.socket.send(asked.encode(id), (error) => error !== null && reject(error));
        shared.connected.then(send).catch(reject);
      });
      this.#failures = 0;
      return answer;
    } catch (error) {
      this.#failures += 1;
      this.#restsUntil = this.#now() + REST_MS;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#waiting -= 1;
      shared.waiting.delete(id);
      this.#closeSpent();
    }
  }

  /** One that nobody waits at, so that a lone question has a port of its own; else a new one, while there may be more. */
  #choose(): Shared {
    this.#closeSpent();
    const fresh = [...this.#sockets].filter((shared) => !this.#isSpent(shared));
    const idle = fresh.find(({ waiting }) => waiting.size === 0);
    if (idle !== undefined) return idle;
    if (this.#sockets.size < MAX_SOCKETS) return this.#open();
    const candidates = fresh.length > 0 ? fresh : [...this.#sockets];
    return candidates[randomInt(candidates.length)] as Shared;
  }

  #isSpent({ born, questions, isBroken }: Shared): boolean {
    return isBroken || born + LIFE_MS <= this.#now() || questions >= LIFE_QUESTIONS;
  }

  #closeSpent(): void {
    for (const shared of this.#sockets) {
      if (shared.waiting.size > 0 || !this.#isSpent(shared)) continue;
      this.#sockets.delete(shared);
      shared.socket.close();
    }
  }

  #open(): Shared {
    const socket = dgram.createSocket(isIP(this.#server.split('%')[0] ?? '') === 6 ? 'udp6' : 'udp4');
    const waiting = new Map<number, Waiting>();
    // Connected: the kernel takes packets of that server alone, and tells when nobody listens there.
    const connected = new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(this.#port, this.#server, resolve);
    });
    const shared: Shared = { socket, connected, waiting, born: this.#now(), questions: 0, isBroken: false };
    socket.on('error', (error) => {
      shared.isBroken = true;
      for (const { reject } of waiting.values()) reject(error);
    });
    socket.on('message', (bytes) => {
      if (bytes.length >= 2) waiting.get(bytes.readUInt16BE(0))?.read(bytes);
    });
    // What waits for an answer has a timer; a socket alone keeps no process alive.
    socket.unref();
    this.#sockets.add(shared);
    return shared;
  }
}

function freeId(waiting: ReadonlyMap<number, unknown>): number {
  for (;;) {
    const id = randomInt(IDS);
    if (!waiting.has(id)) return id;
  }
}
