// Simulated packets through the rules of the nftables mode.
import { describe, expect, test } from 'vitest';
import type { PerFamily, ServicePort, TrafficOptions } from '../../../../proxy-modes/mode.js';
import { NftablesMode } from '../../../../proxy-modes/nftables/mode.js';
import { FakeNft } from '../../../../src/kernel/nftables/fake.js';
import { type Dynamic, traceNft } from '../../../support/proxy/nftTracer.js';
import { expectOutcomes } from '../../../support/proxy/outcomes.js';
import { machine, packetFrom } from '../../../support/proxy/packet.js';
import { endpoint, random, servicePort, stateOf } from '../../../support/proxy/port.js';
import { OPTIONS, SEMANTIC_CASES } from '../../../support/proxy/semantics.js';

const table = 'trellis-proxy';

async function programmed(port: ServicePort | undefined, traffic: PerFamily<TrafficOptions> = OPTIONS.usual) {
  const nft = new FakeNft();
  const mode = new NftablesMode({ nft, table, families: ['ip', 'ip6'], traffic });
  await mode.sync(port === undefined ? stateOf() : stateOf(port));
  return { nft, mode };
}

describe('a packet to', () => {
  test.each(SEMANTIC_CASES.map((entry) => [entry.name, entry] as const))('%s', async (_, entry) => {
    const { nft } = await programmed(entry.port, entry.options);
    await expectOutcomes(entry, (at) => traceNft({ nft, table, machine: machine(at) }, entry.packet));
  });
});

describe('a client of a service with affinity', () => {
  const ends = [1, 2, 3, 4].map((n) => endpoint(`10.244.0.${n}`));
  const sticky = servicePort(1, { endpoints: ends, affinitySeconds: 60, nodePort: 30_080 });

  test('stays with its endpoint, by whatever address it comes', async () => {
    const { nft } = await programmed(sticky);
    const dynamic: Dynamic = new Map();
    const next = random(1);
    const seen = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const packet = packetFrom(
        'outside',
        i % 2 === 0 ? '10.96.0.1' : '192.168.0.1',
        i % 2 === 0 ? 80 : 30_080,
      );
      seen.add((await traceNft({ nft, table, machine: machine(next), dynamic }, packet)).to);
    }
    expect(seen.size).toBe(1);
  });

  test('gets another once its own is gone, and stays with that one', async () => {
    const { nft, mode } = await programmed(sticky);
    const dynamic: Dynamic = new Map();
    const next = random(2);
    const go = async () =>
      (
        await traceNft(
          { nft, table, machine: machine(next), dynamic },
          packetFrom('outside', '10.96.0.1', 80),
        )
      ).to;
    const first = await go();
    await mode.sync(stateOf({ ...sticky, endpoints: ends.filter(({ ip }) => !first.startsWith(`${ip} `)) }));
    const second = await go();
    expect(second).not.toBe(first);
    for (let i = 0; i < 10; i++) expect(await go()).toBe(second);
  });
});
