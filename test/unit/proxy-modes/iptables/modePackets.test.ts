// Simulated packets through the rules of the iptables mode.
import { describe, expect, test } from 'vitest';
import { iptablesMode } from '../../../../proxy-modes/iptables/mode.js';
import type { ServicePort } from '../../../../proxy-modes/mode.js';
import { FakeIptables } from '../../../../src/kernel/iptables/fake.js';
import { type Recent, traceIptables } from '../../../support/proxy/iptablesTracer.js';
import { expectOutcomes } from '../../../support/proxy/outcomes.js';
import { machine, packetFrom } from '../../../support/proxy/packet.js';
import { endpoint, random, servicePort, stateOf } from '../../../support/proxy/port.js';
import { optionsOf, SEMANTIC_CASES, TRAFFIC } from '../../../support/proxy/semantics.js';

async function programmed(port: ServicePort | undefined, traffic = TRAFFIC) {
  const { family } = port ?? { family: 'ip' };
  const iptables = new FakeIptables({ family: family === 'ip' ? 'inet' : 'inet6' });
  const mode = iptablesMode({ ports: { [family]: iptables }, traffic: { [family]: traffic } });
  await mode.sync(port === undefined ? stateOf() : stateOf(port));
  return { iptables, mode };
}

describe('a packet to', () => {
  test.each(SEMANTIC_CASES.map((entry) => [entry.name, entry] as const))('%s', async (_, entry) => {
    const { iptables } = await programmed(entry.port, optionsOf(entry));
    const ruleset = await iptables.save();
    await expectOutcomes(entry, async (at) => {
      // Each rule draws its own number: a half stays a half for the endpoints that are left.
      return traceIptables({ ruleset, machine: machine(at) }, entry.packet);
    });
  });
});

describe('a client of a service with affinity', () => {
  const ends = [1, 2, 3, 4].map((n) => endpoint(`10.244.0.${n}`));
  const sticky = servicePort(1, { endpoints: ends, affinitySeconds: 60 });

  test('stays with its endpoint until that is gone', async () => {
    const { iptables, mode } = await programmed(sticky);
    const recent: Recent = new Map();
    const next = random(3);
    const go = async () => {
      const ruleset = await iptables.save();
      return traceIptables({ ruleset, machine: machine(next), recent }, packetFrom('pod', '10.96.0.1', 80))
        .to;
    };
    const first = await go();
    for (let i = 0; i < 10; i++) expect(await go()).toBe(first);
    await mode.sync(stateOf({ ...sticky, endpoints: ends.filter(({ ip }) => !first.startsWith(`${ip} `)) }));
    const second = await go();
    expect(second).not.toBe(first);
    for (let i = 0; i < 10; i++) expect(await go()).toBe(second);
  });
});
