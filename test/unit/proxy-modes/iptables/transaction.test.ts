import { describe, expect, test } from 'vitest';
import { iptablesMode } from '../../../../proxy-modes/iptables/mode.js';
import { planService } from '../../../../proxy-modes/iptables/plan/service.js';
import { FakeIptables } from '../../../../src/kernel/iptables/fake.js';
import { iptablesContents } from '../../../support/proxy/contents.js';
import { eachRandomState, endpoint, random, servicePort, stateOf } from '../../../support/proxy/port.js';
import { TRAFFIC } from '../../../support/proxy/semantics.js';

const modeOn = (ip: FakeIptables) => iptablesMode({ ports: { ip }, traffic: { ip: TRAFFIC } });

describe('transactions of the iptables mode', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'changed step by step, the rules are as if made at once (seed %i)',
    async (seed) => {
      const next = random(seed);
      const stepwise = new FakeIptables();
      const mode = modeOn(stepwise);
      await eachRandomState(next, async (state, changed) => {
        await mode.sync(state, changed);
        const fresh = new FakeIptables();
        await modeOn(fresh).sync(state);
        const saved = await stepwise.save();
        expect(iptablesContents(saved)).toEqual(iptablesContents(await fresh.save()));
        expect(saved.get('nat')?.chains.get('KUBE-SERVICES')?.rules.at(-1)).toContain(
          'must be the last rule',
        );
      });
      await mode.cleanUp();
      expect([...(await stepwise.save()).values()].flatMap(({ chains }) => [...chains.keys()])).not.toContain(
        expect.stringContaining('KUBE'),
      );
    },
  );

  test('sends only the chains that changed', async () => {
    const iptables = new FakeIptables();
    const mode = modeOn(iptables);
    const many = Array.from({ length: 200 }, (_, n) => servicePort(n));
    await mode.sync(stateOf(...many));
    const changed = servicePort(7, { endpoints: [endpoint('10.244.0.99')] });
    await mode.sync(stateOf(...many.filter((_, n) => n !== 7), changed));
    const lines = iptables.restored.at(-1) ?? [];
    expect(lines.length).toBeLessThan(15);
    expect(lines.join('\n')).not.toContain('default/s8:');
    await mode.sync(stateOf(...many.filter((_, n) => n !== 7), changed));
    expect(iptables.restored).toHaveLength(2);
  });

  test('leaves out the comments of endpoints in large clusters, as kube-proxy does', async () => {
    const iptables = new FakeIptables();
    const mode = modeOn(iptables);
    const many = Array.from({ length: 1000 }, (_, n) =>
      servicePort(n, { endpoints: [endpoint(`10.244.${n >> 8}.${n & 255}`)] }),
    );
    await mode.sync(stateOf(...many));
    expect(
      iptables.restored.at(-1)?.filter((line) => line.includes('--comment "default/s7:http"')),
    ).toHaveLength(2);
    const grown = servicePort(7, { endpoints: [endpoint('10.244.0.7'), endpoint('10.244.9.7')] });
    const state = stateOf(...many.filter((_, n) => n !== 7), grown);
    await mode.sync(state, new Set([grown.key]));
    const lines = iptables.restored.at(-1)?.filter((line) => line.startsWith('-A'));
    expect(lines).toEqual([
      expect.stringMatching(
        /^-A KUBE-SVC-\w+ .* --comment "default\/s7:http cluster IP" .*-j KUBE-MARK-MASQ$/,
      ),
      expect.stringMatching(
        /^-A KUBE-SVC-\w+ -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-\w+$/,
      ),
      expect.stringMatching(/^-A KUBE-SVC-\w+ -j KUBE-SEP-\w+$/),
      expect.stringMatching(/^-A KUBE-SEP-\w+ -s 10.244.9.7\/32 -j KUBE-MARK-MASQ$/),
      expect.stringMatching(/^-A KUBE-SEP-\w+ -p tcp -m tcp -j DNAT --to-destination 10.244.9.7:8080$/),
    ]);
    // Written with comments before, and still there.
    expect(await mode.check?.()).toBe(true);
    await modeOn(iptables).sync(state);
    expect(iptables.restored.at(-1)?.filter((line) => line.includes('"default/s8:http'))).toEqual([
      expect.stringMatching(/^-A KUBE-SVC-.* cluster IP" .*-j KUBE-MARK-MASQ$/),
      expect.stringMatching(/^-A KUBE-SERVICES .* cluster IP"/),
    ]);
  });

  test.each([
    ['a service is gone from the entries', ['*nat', '-D KUBE-SERVICES 1', 'COMMIT']],
    ["a service's own chain is empty", ['*nat', '-F KUBE-SVC-PYDLJSTVV4PSKMPD', 'COMMIT']],
    ['a jump is gone', ['*nat', '-F PREROUTING', 'COMMIT']],
    ['refusals are gone', ['*filter', '-F KUBE-SERVICES', 'COMMIT']],
    ['the filter table is empty', ['*filter', '-F', 'COMMIT']],
  ])('finds out when %s, and minds no rules of others', async (_, lines) => {
    const iptables = new FakeIptables();
    const mode = modeOn(iptables);
    await mode.sync(stateOf(servicePort(1), servicePort(2, { endpoints: [], served: false })));
    const chain = [...(await iptables.save('nat')).values()]
      .flatMap(({ chains }) => [...chains.keys()])
      .find((name) => name.startsWith('KUBE-SVC-'));
    await iptables.restore(['*nat', ':X - [0:0]', '-A PREROUTING -j X', 'COMMIT']);
    expect(await mode.check?.()).toBe(true);
    await iptables.restore(lines.map((line) => line.replace(/KUBE-SVC-\w+/, chain ?? '')));
    expect(await mode.check?.()).toBe(false);
  });

  test('removes what another run has left, and keeps the rules of others', async () => {
    const iptables = new FakeIptables();
    await modeOn(iptables).sync(stateOf(servicePort(1)));
    await iptables.restore(['*nat', '-A POSTROUTING -s 10.9.0.0/16 -j MASQUERADE', 'COMMIT']);
    const mode = modeOn(iptables);
    await mode.sync(stateOf(servicePort(2)));
    const saved = await iptables.save('nat');
    expect(
      [...(saved.get('nat')?.chains.keys() ?? [])].filter((name) => name.startsWith('KUBE-SVC-')),
    ).toHaveLength(1);
    expect(saved.get('nat')?.chains.get('PREROUTING')?.rules).toHaveLength(1);
    await mode.cleanUp();
    const left = [...(await iptables.save()).values()].flatMap(({ chains }) => [...chains.values()]);
    expect(left.flatMap(({ rules }) => rules)).toEqual(['-A POSTROUTING -s 10.9.0.0/16 -j MASQUERADE']);
    expect(left.map(({ name }) => name).filter((name) => name.startsWith('KUBE'))).toEqual([]);
  });
});

describe('rules of well-known services', () => {
  const pods = ['172.17.0.2', '172.17.0.3'].map((ip) => endpoint(ip, true, 80));

  test('my-nginx: a cluster IP with two endpoints', () => {
    const port = servicePort(1, {
      name: 'default/my-nginx:',
      clusterIp: '20.1.229.191',
      port: 8000,
      endpoints: pods,
    });
    const { chains, nat } = planService(port, {});
    expect(nat).toEqual([
      'KUBE-SERVICES -d 20.1.229.191/32 -p tcp -m comment --comment "default/my-nginx: cluster IP" -m tcp --dport 8000 -j KUBE-SVC-BEPXDJBUHFCSYIC3',
    ]);
    expect([...chains.entries()]).toEqual([
      [
        'KUBE-SVC-BEPXDJBUHFCSYIC3',
        [
          '-m comment --comment "default/my-nginx: -> 172.17.0.2:80" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-SZOOSRNNPSO4SQN6',
          '-m comment --comment "default/my-nginx: -> 172.17.0.3:80" -j KUBE-SEP-IC3T2J6HE6M2GFH3',
        ],
      ],
      [
        'KUBE-SEP-SZOOSRNNPSO4SQN6',
        [
          '-s 172.17.0.2/32 -m comment --comment "default/my-nginx:" -j KUBE-MARK-MASQ',
          '-p tcp -m comment --comment "default/my-nginx:" -m tcp -j DNAT --to-destination 172.17.0.2:80',
        ],
      ],
      [
        'KUBE-SEP-IC3T2J6HE6M2GFH3',
        [
          '-s 172.17.0.3/32 -m comment --comment "default/my-nginx:" -j KUBE-MARK-MASQ',
          '-p tcp -m comment --comment "default/my-nginx:" -m tcp -j DNAT --to-destination 172.17.0.3:80',
        ],
      ],
    ]);
  });

  test('httpd: a node port', () => {
    const port = servicePort(1, {
      name: 'default/httpd:http',
      port: 8000,
      nodePort: 32_143,
      endpoints: pods,
    });
    const { chains, nat } = planService(port, {});
    expect(nat[1]).toBe(
      'KUBE-NODEPORTS -p tcp -m comment --comment "default/httpd:http" -m tcp --dport 32143 -j KUBE-EXT-XFKVMULVNTOVAXCH',
    );
    expect(chains.get('KUBE-EXT-XFKVMULVNTOVAXCH')).toEqual([
      '-m comment --comment "masquerade traffic for default/httpd:http external destinations" -j KUBE-MARK-MASQ',
      '-j KUBE-SVC-XFKVMULVNTOVAXCH',
    ]);
  });

  test('extip: an external address', () => {
    const port = servicePort(1, {
      name: 'default/extip:',
      port: 8000,
      externalIps: ['192.168.56.110'],
      endpoints: pods,
    });
    expect(planService(port, {}).nat[1]).toBe(
      'KUBE-SERVICES -d 192.168.56.110/32 -p tcp -m comment --comment "default/extip: external IP" -m tcp --dport 8000 -j KUBE-EXT-PLMJW3AS3OGULKQX',
    );
  });
});
