// The real nf_tables behind NftPort.
// Guarantees: one commit is one transaction; failures name the caller's requests, however they were split on the way.
import { addon, type NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { applySplit, splitRequests } from '../splitRequests.js';
import { Watches } from '../watch.js';
import type { NftPort, SetElement } from './port.js';

/** Elements a request: a request is turned into bytes without a pause, so none may be very long. */
const ELEMENTS = 500;

export async function openNft(netns?: NetNs): Promise<NftPort> {
  const channel = await Channel.open('nftables', netns);
  const watches = new Watches();
  return {
    async commit(requests, options = {}) {
      const pieces = splitRequests(requests, 'elements', ELEMENTS);
      // Behind the requests, so that it does not shift their indexes.
      if (options.generation !== undefined) {
        const request = { do: 'check', kind: 'generation', generation: options.generation };
        pieces.push({ request, index: undefined, offset: 0 });
      }
      await applySplit(pieces, (requests) => channel.apply(requests));
    },
    tables: channel.list('table'),
    chains: channel.list('chain'),
    rules: channel.list('rule'),
    sets: channel.list('set'),
    elements: (of) => channel.query<SetElement>({ kind: 'element', ...of }),
    async generation() {
      const [answer] = await channel.query<{ generation: number }>({ kind: 'generation' });
      return answer?.generation ?? 0;
    },
    watch: (onEvents) => watches.start((onBytes) => addon().watchNft(netns, onBytes), onEvents),
    close() {
      watches.close();
      channel.close();
    },
  };
}
