// The real nf_tables behind NftPort.
// Guarantees: one commit is one transaction; failures name the caller's requests, however they were split on the way.
import { addon, type NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { type Failure, KernelError } from '../error.js';
import type { NftEvent, NftPort, NftRequest, SetElement, Watch } from './port.js';

/** Elements a request: a request is turned into bytes without a pause, so none may be very long. */
const ELEMENTS = 500;

function weigh(request: object): number {
  if ('elements' in request && Array.isArray(request.elements)) return request.elements.length;
  if ('expressions' in request && Array.isArray(request.expressions)) return 1 + request.expressions.length;
  return 1;
}

/** The requests as they are sent, and for each the index of the caller's request it came from. */
interface Pieces {
  readonly requests: object[];
  readonly origins: number[];
}

function split(requests: readonly NftRequest[]): Pieces {
  const pieces: Pieces = { requests: [], origins: [] };
  const put = (request: object, origin: number) => {
    pieces.requests.push(request);
    pieces.origins.push(origin);
  };
  for (const [index, request] of requests.entries()) {
    if (request.kind !== 'element' || request.elements.length <= ELEMENTS) {
      put(request, index);
      continue;
    }
    for (let at = 0; at < request.elements.length; at += ELEMENTS)
      put({ ...request, elements: request.elements.slice(at, at + ELEMENTS) }, index);
  }
  return pieces;
}

/** Failures by the caller's indexes, each request once; one that is not the caller's has no index. */
function translate(error: KernelError, origins: readonly number[]): KernelError {
  const told = new Set<number>();
  const failures: Failure[] = [];
  for (const { index, ...failure } of error.failures) {
    const origin = index === undefined ? undefined : origins[index];
    if (origin === undefined) failures.push(failure);
    else if (!told.has(origin)) failures.push({ ...failure, index: origin });
    if (origin !== undefined) told.add(origin);
  }
  const [first, ...rest] = failures;
  return first === undefined ? error : new KernelError([first, ...rest], { cause: error });
}

export async function openNft(netns?: NetNs): Promise<NftPort> {
  const channel = await Channel.open('nftables', netns);
  const watches = new Set<Watch>();
  const list =
    (kind: string) =>
    <T>(filter: object = {}): Promise<T[]> =>
      channel.query<T>({ kind, ...filter });

  return {
    async commit(requests, options = {}) {
      const { requests: pieces, origins } = split(requests);
      // Behind the requests, so that it does not shift their indexes.
      if (options.generation !== undefined)
        pieces.push({ do: 'check', kind: 'generation', generation: options.generation });
      try {
        await channel.apply(pieces, weigh);
      } catch (error) {
        throw error instanceof KernelError ? translate(error, origins) : error;
      }
    },
    tables: list('table'),
    chains: list('chain'),
    rules: list('rule'),
    sets: list('set'),
    elements: (of) => channel.query<SetElement>({ kind: 'element', ...of }),
    async generation() {
      const [answer] = await channel.query<{ generation: number }>({ kind: 'generation' });
      return answer?.generation ?? 0;
    },
    watch(onEvents) {
      const watch = startWatch(netns, onEvents, () => watches.delete(watch));
      watches.add(watch);
      return watch;
    },
    close() {
      for (const watch of [...watches]) watch.close();
      channel.close();
    },
  };
}

function startWatch(
  netns: NetNs,
  onEvents: (events: readonly NftEvent[]) => void,
  onClosed: () => void,
): Watch {
  let open = true;
  try {
    const monitor = addon().watchNft(netns, (bytes) => {
      if (open) onEvents(JSON.parse(bytes.toString()) as NftEvent[]);
    });
    return {
      close() {
        if (!open) return;
        open = false;
        monitor.close();
        onClosed();
      },
    };
  } catch (error) {
    throw KernelError.from(error);
  }
}
