import { describe, expect, test } from 'vitest';
import type { ProxyState, TrafficOptions } from '../../../../proxy-modes/mode.js';
import { NftablesMode } from '../../../../proxy-modes/nftables/mode.js';
import { advance, type Programmed, transaction } from '../../../../proxy-modes/nftables/transaction.js';
import { KernelError } from '../../../../src/kernel/error.js';
import { FakeNft } from '../../../../src/kernel/nftables/fake.js';
import { nftContents } from '../../../support/proxy/contents.js';
import { eachRandomState, servicePort as port, random, stateOf } from '../../../support/proxy/port.js';

const TABLE = 'trellis-proxy';
const place = { family: 'ip', table: TABLE } as const;
const options: TrafficOptions = { local: { by: 'cidr', cidr: '10.244.0.0/16' } };

const contents = (nft: FakeNft) => nftContents(nft, TABLE);

function emptyRecord() {
  return { services: new Map<string, Programmed>(), shared: new Map<string, number>() };
}

/** What the kernel and the record hold after a first sync. */
function first(state: ProxyState) {
  const record = emptyRecord();
  advance(record, transaction(place, { state }, undefined, options));
  return record;
}

describe('a service that the kernel refuses', () => {
  const nft = new FakeNft();
  const mode = new NftablesMode({ nft, table: TABLE, families: ['ip', 'ip6'], traffic: { ip: options } });
  const elements = async (set: string) =>
    (await nft.elements({ ...place, set })).map(({ key, verdict }) => `${key} ${verdict}`).sort();

  test('is left out and told, and all others are served, again once it is right', async () => {
    const twin = port(2, { clusterIp: port(1).clusterIp, affinitySeconds: 5, nodePort: 30_002 });
    const six = port(4, { family: 'ip6' });
    const { failed } = await mode.sync(stateOf(port(1), twin, port(3), six));
    expect([...(failed?.keys() ?? [])]).toEqual([twin.key]);
    expect((await elements('service-ips')).map((text) => text.split(' ')[0])).toEqual([
      '10.96.0.1',
      '10.96.0.3',
    ]);
    expect((await nft.chains(place)).map(({ name }) => name).join()).not.toContain('default/s2');
    expect(await mode.check?.()).toBe(true);
    const right = port(2);
    const report = await mode.sync(stateOf(port(1), right, port(3), six), new Set([right.key]));
    expect(report.failed?.size ?? 0).toBe(0);
    expect(await elements('service-ips')).toHaveLength(3);
  });

  test('does not hide that everything is refused', async () => {
    const full = new FakeNft();
    full.commit = async () => {
      throw KernelError.invalid('no memory');
    };
    const other = new NftablesMode({ nft: full, table: TABLE, families: ['ip'], traffic: {} });
    await expect(other.sync(stateOf(port(1)))).rejects.toThrow('no memory');
  });
});

describe('transactions of the nftables mode', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'changed step by step, the table is as if made at once (seed %i)',
    async (seed) => {
      const next = random(seed);
      const stepwise = new FakeNft();
      let applied: ReturnType<typeof emptyRecord> | undefined;
      await eachRandomState(next, async (state, changed) => {
        const step = transaction(place, { state, changed }, applied, options);
        await stepwise.commit(step.requests);
        applied ??= emptyRecord();
        advance(applied, step);
        const fresh = new FakeNft();
        await fresh.commit(transaction(place, { state }, undefined, options).requests);
        expect(await contents(stepwise)).toEqual(await contents(fresh));
      });
    },
  );

  test('is empty when nothing changed', () => {
    const state = stateOf(port(1), port(2));
    expect(transaction(place, { state: new Map(state) }, first(state), options).requests).toEqual([]);
  });

  test('names only the service that changed', () => {
    const many = Array.from({ length: 200 }, (_, n) => port(n));
    const applied = first(stateOf(...many));
    const changed = port(7, { endpoints: [{ ip: '10.244.0.99', port: 8080, local: false }] });
    const state = stateOf(...many.filter((_, n) => n !== 7), changed);
    const { requests } = transaction(place, { state }, applied, options);
    expect(JSON.stringify(requests)).not.toContain('default/s8');
    expect(requests.length).toBeLessThan(10);
  });

  test('leaves services of the other family to its own table', () => {
    const six = port(1, {
      key: 'default/s1:http/tcp/ip6',
      family: 'ip6',
      clusterIp: 'fd00::1',
      endpoints: [],
    });
    expect(transaction(place, { state: stateOf(six) }, undefined, options).services.size).toBe(0);
  });

  test('starts from nothing after a refused commit', async () => {
    const nft = new FakeNft();
    const mode = new NftablesMode({ nft, table: TABLE, families: ['ip'], traffic: { ip: options } });
    await mode.sync(stateOf(port(1)));
    await nft.commit([{ do: 'delete', kind: 'table', family: 'ip', name: TABLE }]);
    await expect(mode.sync(stateOf(port(2)))).rejects.toThrow();
    await mode.sync(stateOf(port(2)));
    const fresh = new FakeNft();
    await fresh.commit(transaction(place, { state: stateOf(port(2)) }, undefined, options).requests);
    expect(await contents(nft)).toEqual(await contents(fresh));
    await mode.cleanUp();
    expect(await nft.tables()).toEqual([]);
  });

  test('does not believe what it wrote if it was told to forget meanwhile', async () => {
    const nft = new FakeNft();
    const mode = new NftablesMode({ nft, table: TABLE, families: ['ip'], traffic: { ip: options } });
    const writing = mode.sync(stateOf(port(1)));
    mode.forget();
    await writing;
    await nft.commit([{ do: 'delete', kind: 'table', family: 'ip', name: TABLE }]);
    await mode.sync(stateOf(port(1)));
    expect(await nft.tables()).toHaveLength(1);
  });
});
