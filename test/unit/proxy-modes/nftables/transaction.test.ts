import { describe, expect, it } from 'vitest';
import { nftablesMode } from '../../../../proxy-modes/nftables/mode.js';
import { type Applied, transaction } from '../../../../proxy-modes/nftables/transaction.js';
import { FakeNft } from '../../../../src/kernel/nftables/fake.js';
import type { ProxyState, ServicePort } from '../../../../src/proxy/state.js';

const TABLE = 'trellis-proxy';
const place = { family: 'ip', table: TABLE } as const;
const options = { clusterCidr: '10.244.0.0/16' };

function port(n: number, more: Partial<ServicePort> = {}): ServicePort {
  return {
    key: `default/s${n}:http/tcp/ip`,
    family: 'ip',
    protocol: 'tcp',
    clusterIp: `10.96.0.${n}`,
    port: 80,
    internalLocal: false,
    externalLocal: false,
    endpoints: [{ ip: `10.244.0.${n}`, port: 8080, local: true }],
    ...more,
  };
}

const stateOf = (...ports: readonly ServicePort[]): ProxyState =>
  new Map(ports.map((entry) => [entry.key, entry]));

/** What the table holds, without the handles and the order in which things were made. */
async function contents(nft: FakeNft): Promise<unknown> {
  const [chains, rules, sets] = await Promise.all([nft.chains(), nft.rules(), nft.sets()]);
  const named = sets.filter(({ flags }) => flags?.includes('anonymous') !== true);
  const elements = await Promise.all(
    named.map(async ({ name }) => [
      name,
      (await nft.elements({ family: 'ip', table: TABLE, set: name }))
        .map((entry) => JSON.stringify(entry))
        .sort(),
    ]),
  );
  return {
    chains: chains.map(({ name }) => name).sort(),
    rules: rules
      .map(
        ({ chain, expressions }) => `${chain} ${JSON.stringify(expressions).replace(/__map\d+/g, '__map')}`,
      )
      .sort(),
    elements: Object.fromEntries(elements),
    anonymous: sets.length - named.length,
  };
}

/** Deterministic random numbers (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function randomState(next: () => number, before: ProxyState): ProxyState {
  const below = (n: number) => Math.floor(next() * n);
  const ports = Array.from({ length: 8 }, (_, n) => {
    const old = before.get(port(n).key);
    if (old !== undefined && next() < 0.5) return [old];
    if (next() < 0.3) return [];
    const endpoints = Array.from({ length: below(4) }, (_, i) => ({
      ip: `10.244.0.${i}`,
      port: 8080,
      local: next() < 0.7,
    }));
    const nodePort = next() < 0.4 ? { nodePort: 30000 + n } : {};
    return [port(n, { endpoints, ...nodePort, internalLocal: next() < 0.2, externalLocal: next() < 0.2 })];
  });
  return stateOf(...ports.flat());
}

describe('transactions of the nftables mode', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'changed step by step, the table is as if made at once (seed %i)',
    async (seed) => {
      const next = random(seed);
      const stepwise = new FakeNft();
      let applied: Applied | undefined;
      let state: ProxyState = new Map();
      for (let round = 0; round < 12; round++) {
        state = randomState(next, state);
        const { requests, result } = transaction(place, state, applied, options);
        await stepwise.commit(requests);
        applied = result;
        const fresh = new FakeNft();
        await fresh.commit(transaction(place, state, undefined, options).requests);
        expect(await contents(stepwise)).toEqual(await contents(fresh));
      }
    },
  );

  it('is empty when nothing changed', () => {
    const state = stateOf(port(1), port(2));
    const { result } = transaction(place, state, undefined, options);
    expect(transaction(place, new Map(state), result, options).requests).toEqual([]);
  });

  it('names only the service that changed', () => {
    const many = Array.from({ length: 200 }, (_, n) => port(n));
    const { result } = transaction(place, stateOf(...many), undefined, options);
    const changed = port(7, { endpoints: [{ ip: '10.244.0.99', port: 8080, local: false }] });
    const { requests } = transaction(
      place,
      stateOf(...many.filter((_, n) => n !== 7), changed),
      result,
      options,
    );
    expect(JSON.stringify(requests)).not.toContain('default/s8');
    expect(requests.length).toBeLessThan(10);
  });

  it('leaves services of the other family to its own table', () => {
    const six = port(1, {
      key: 'default/s1:http/tcp/ip6',
      family: 'ip6',
      clusterIp: 'fd00::1',
      endpoints: [],
    });
    const { result } = transaction(place, stateOf(six), undefined, options);
    expect(result.services.size).toBe(0);
  });

  it('starts from nothing after a refused commit', async () => {
    const nft = new FakeNft();
    const mode = nftablesMode({ nft, table: TABLE, families: ['ip'], clusterCidrs: { ip: '10.244.0.0/16' } });
    await mode.sync(stateOf(port(1)));
    await nft.commit([{ do: 'delete', kind: 'table', family: 'ip', name: TABLE }]);
    await expect(mode.sync(stateOf(port(2)))).rejects.toThrow();
    await mode.sync(stateOf(port(2)));
    const fresh = new FakeNft();
    await fresh.commit(transaction(place, stateOf(port(2)), undefined, options).requests);
    expect(await contents(nft)).toEqual(await contents(fresh));
    await mode.cleanUp();
    expect(await nft.tables()).toEqual([]);
  });
});
