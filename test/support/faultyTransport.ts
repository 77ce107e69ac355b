// What lies between a client and its server when the network is bad: requests are delayed and refused, answers are lost,
// watches are cut or fall silent.
// Guarantees: what goes wrong follows from the seed and the order of the requests; an answer that is lost belongs to a request
// that was done; what was done and what was lost is counted.
import { ClientError } from '../../src/client/error.js';
import type { Transport, TransportRequest, TransportResponse } from '../../src/client/transport.js';
import { random } from './random.js';

/** Each a share of all requests, or of all watches. */
interface FaultShares {
  readonly delayed: number;
  readonly refused: number;
  readonly lost: number;
  readonly cut: number;
  readonly silent: number;
}

const BAD_NETWORK: FaultShares = { delayed: 0.3, refused: 0.06, lost: 0.04, cut: 0.5, silent: 0.2 };
const LONGEST_DELAY_MS = 40;
/** After so many pieces a watch is cut at the latest. */
const LONGEST_WATCH = 20;

export class Faults {
  readonly seed: number;
  /** Set to false when the network has become good. */
  isBad = true;
  /** Objects that were made, and those of which the maker was not told, by resource. */
  readonly made = new Map<string, number>();
  readonly lost = new Map<string, number>();
  /** Requests that changed something. */
  writes = 0;
  readonly #chance: () => number;
  readonly #shares: FaultShares;

  constructor(
    seed = Number(process.env['TRELLIS_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 32)),
    shares = BAD_NETWORK,
  ) {
    this.seed = seed;
    this.#shares = shares;
    this.#chance = random(seed);
  }

  between(transport: Transport): Transport {
    return {
      close: () => transport.close(),
      request: async (request) => {
        if (this.#happens('delayed')) await pause(this.#chance() * LONGEST_DELAY_MS);
        if (this.#happens('refused')) return this.#refuse();
        const response = await transport.request(request);
        if (request.path.includes('watch=true')) return this.#watched(response, request.signal);
        return this.#done(request, response);
      },
    };
  }

  #happens(fault: keyof FaultShares): boolean {
    const share = this.#shares[fault];
    return this.#chance() < share && this.isBad;
  }

  #refuse(): TransportResponse {
    if (this.#chance() < 0.5) throw unreachable('connection refused');
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code: 500,
      reason: 'InternalError',
    };
    return { status: 500, headers: {}, body: piecesOf(Buffer.from(JSON.stringify(status))) };
  }

  async #done(request: TransportRequest, response: TransportResponse): Promise<TransportResponse> {
    const isWrite = request.method !== 'GET' && response.status < 300;
    const resource = isWrite ? collectionOf(request) : undefined;
    if (isWrite) this.writes += 1;
    if (resource !== undefined) count(this.made, resource);
    if (!this.#happens('lost')) return response;
    for await (const _ of response.body); // done as a whole, though nobody hears of it
    if (resource !== undefined) count(this.lost, resource);
    throw unreachable('the connection was reset');
  }

  #watched(response: TransportResponse, signal: AbortSignal | undefined): TransportResponse {
    const left = Math.floor(this.#chance() * LONGEST_WATCH);
    const fate = this.#happens('silent') ? 'silent' : this.#happens('cut') ? 'cut' : undefined;
    return fate === undefined ? response : { ...response, body: cutShort(response.body, fate, left, signal) };
  }
}

async function* cutShort(
  body: AsyncIterable<Uint8Array>,
  fate: 'silent' | 'cut',
  pieces: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  let left = pieces;
  for await (const piece of body) {
    if (left-- > 0) {
      yield piece;
      continue;
    }
    if (fate === 'cut') throw unreachable('the connection was reset');
    // As if nothing more had come, with the connection open.
    await new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
    return;
  }
}

/** The resource of which the request makes one; undefined for every other request. */
function collectionOf({ method, path }: TransportRequest): string | undefined {
  const match = /^\/apis?\/(?:[^/]+\/)?[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)$/.exec(
    path.split('?', 1)[0] ?? '',
  );
  return method === 'POST' ? match?.[1] : undefined;
}

async function* piecesOf(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const count = (counts: Map<string, number>, key: string) => void counts.set(key, (counts.get(key) ?? 0) + 1);
const unreachable = (why: string) => new ClientError('UNREACHABLE', `cannot reach the apiserver: ${why}`);
