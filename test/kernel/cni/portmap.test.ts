// portmap as packets see it: from another machine, from the host, from localhost and from the container itself.
// Guarantees: both back ends pass the same suite; what is published is gone after DEL, whatever happened before.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { netNsPerTest } from '../../support/netns.js';
import { ask, BIN, HOST, MACHINE, PortmapHost } from '../../support/portmapHost.js';
import { describeWith } from '../../support/requires.js';

const WEB = { hostPort: 8080, containerPort: 80, protocol: 'tcp' };
/** In the letters of containerd. */
const LOUD = { HostPort: 8081, ContainerPort: 80, Protocol: 'tcp', HostIP: '' };
const DNS = { hostPort: 5353, containerPort: 53, protocol: 'udp' };
const fine = { code: 0, output: '' };

describeWith(
  {
    root: true,
    tools: ['ip', 'nft', 'iptables-save', 'ip6tables-save', 'nsenter', 'conntrack'],
    files: [`${BIN}/portmap`, `${BIN}/bridge`],
    features: ['veth', 'bridge'],
  },
  'portmap',
  () => {
    const namespaces = netNsPerTest();
    let root = '';
    let host: PortmapHost;
    beforeEach(async () => {
      root = mkdtempSync(path.join(tmpdir(), 'trellis-portmap-'));
      host = await PortmapHost.make(namespaces, root);
    });
    afterEach(() => {
      host.close();
      rmSync(root, { recursive: true });
    });

    describe.each(['nftables', 'iptables'])('%s', (backend) => {
      const conf = { backend };

      test('a published port answers the machine next door, the host, localhost and the container', async () => {
        const one = await host.container('c1');
        const added = await host.portmap('ADD', one, [WEB, DNS, LOUD], conf);
        expect(JSON.parse(added.output)).toEqual(one.result);
        expect(await host.portmap('CHECK', one, [WEB, DNS, LOUD], conf)).toEqual(fine);
        expect(await ask(host.machine, 'tcp', HOST.v4, 8081)).toBe(`c1 ${MACHINE.v4}`);
        const { ns, machine } = host;
        const heard = {
          machine: [await ask(machine, 'tcp', HOST.v4, 8080), await ask(machine, 'udp', HOST.v4, 5353)],
          machine6: [await ask(machine, 'tcp', HOST.v6, 8080), await ask(machine, 'udp', HOST.v6, 5353)],
          host: [await ask(ns, 'tcp', HOST.v4, 8080), await ask(ns, 'udp', HOST.v4, 5353)],
          host6: [await ask(ns, 'tcp', HOST.v6, 8080)],
          localhost: [await ask(ns, 'tcp', '127.0.0.1', 8080), await ask(ns, 'udp', '127.0.0.1', 5353)],
          localhost6: [await ask(ns, 'tcp', '::1', 8080)],
          hairpin: [await ask(one.ns, 'tcp', HOST.v4, 8080), await ask(one.ns, 'udp', HOST.v4, 5353)],
          hairpin6: [await ask(one.ns, 'tcp', HOST.v6, 8080)],
        };
        expect(heard).toEqual({
          machine: [`c1 ${MACHINE.v4}`, `c1 ${MACHINE.v4}`],
          machine6: [`c1 ${MACHINE.v6}`, `c1 ${MACHINE.v6}`],
          host: [`c1 ${HOST.v4}`, `c1 ${HOST.v4}`],
          host6: [`c1 ${HOST.v6}`],
          localhost: ['c1 10.88.0.1', 'c1 10.88.0.1'],
          localhost6: ['ECONNREFUSED'], // the kernel cannot; better refused than left waiting
          hairpin: ['c1 10.88.0.1', 'c1 10.88.0.1'],
          hairpin6: ['c1 fd00:88::1'],
        });
        expect(await host.portmap('DEL', one, [WEB, DNS], conf)).toEqual(fine);
        expect(await host.traces()).toEqual([]);
        expect(await ask(machine, 'tcp', HOST.v4, 8080)).toBe('ECONNREFUSED');
      });

      test('DEL needs neither mappings nor result nor namespace, and may come twice', async () => {
        const one = await host.container('c1');
        const mappings = [WEB, { ...DNS, hostIP: HOST.v6 }, { ...WEB, protocol: 'SCTP' }];
        await host.portmap('ADD', one, mappings, conf);
        expect(await host.portmap('CHECK', one, mappings, conf)).toEqual(fine);
        expect(await host.traces()).not.toEqual([]);
        for (let time = 0; time < 2; time++) {
          expect(await host.run('portmap', 'DEL', 'c1', { ...conf, netns: '' })).toEqual(fine);
          expect(await host.traces()).toEqual([]);
        }
      });

      test('a host address publishes on it alone, and goes before a port of all addresses', async () => {
        const [one, two] = [await host.container('c1'), await host.container('c2')];
        await host.portmap('ADD', one, [{ ...WEB, hostIP: HOST.v4 }], conf);
        const before = [
          await ask(host.machine, 'tcp', HOST.v4, 8080),
          await ask(host.machine, 'tcp', HOST.other4, 8080),
          await ask(host.machine, 'tcp', HOST.v6, 8080),
        ];
        expect(before).toEqual([`c1 ${MACHINE.v4}`, 'ECONNREFUSED', 'ECONNREFUSED']);
        await host.portmap('ADD', two, [{ ...WEB, hostIP: '0.0.0.0' }], conf);
        const after = [
          await ask(host.machine, 'tcp', HOST.v4, 8080),
          await ask(host.machine, 'tcp', HOST.other4, 8080),
          await ask(host.machine, 'tcp', HOST.v6, 8080),
        ];
        expect(after).toEqual([`c1 ${MACHINE.v4}`, `c2 ${MACHINE.v4}`, 'ECONNREFUSED']);
      });

      test('containers reach each other by their ports; DEL takes only its own', async () => {
        const [one, two] = [await host.container('c1'), await host.container('c2')];
        await host.portmap('ADD', one, [WEB], conf);
        await host.portmap('ADD', two, [{ ...WEB, hostPort: 8081 }], conf);
        expect(await ask(one.ns, 'tcp', HOST.v4, 8081)).toBe('c2 10.88.0.1');
        await host.portmap('DEL', one, [WEB], conf);
        expect(await ask(host.machine, 'tcp', HOST.v4, 8080)).toBe('ECONNREFUSED');
        expect(await ask(host.machine, 'tcp', HOST.v4, 8081)).toBe(`c2 ${MACHINE.v4}`);
        expect(await host.portmap('CHECK', two, [{ ...WEB, hostPort: 8081 }], conf)).toEqual(fine);
      });

      test('a port that was left behind goes to the next container, also its UDP flows', async () => {
        const [one, two] = [await host.container('c1'), await host.container('c2')];
        await host.portmap('ADD', one, [WEB, DNS], conf);
        expect(await ask(host.machine, 'udp', HOST.v4, 5353, 40000)).toBe(`c1 ${MACHINE.v4}`);
        await host.portmap('ADD', two, [WEB, DNS], conf);
        expect(await ask(host.machine, 'udp', HOST.v4, 5353, 40000)).toBe(`c2 ${MACHINE.v4}`);
        expect(await ask(host.machine, 'tcp', HOST.v4, 8080)).toBe(`c2 ${MACHINE.v4}`);
        await host.portmap('DEL', one, [WEB, DNS], conf); // late: it is the other's port now
        expect(await ask(host.machine, 'tcp', HOST.v4, 8080)).toBe(`c2 ${MACHINE.v4}`);
        await host.portmap('DEL', two, [WEB, DNS], conf);
        expect(await host.traces()).toEqual([]);
      });

      test('UDP flows to another port or another machine are kept', async () => {
        const one = await host.container('c1');
        await host.portmap('ADD', one, [{ ...DNS, hostPort: 53 }], conf);
        await Promise.all([
          ask(host.machine, 'udp', HOST.v4, 53, 40001),
          ask(host.machine, 'udp', HOST.v4, 5353, 40002),
          ask(one.ns, 'udp', MACHINE.v4, 5353, 40003),
        ]);
        const flows = async () => {
          const table = await host.ns.run('conntrack', '-L', '-p', 'udp');
          return ['40001', '40002', '40003'].filter((port) => table.includes(`sport=${port} `));
        };
        expect(await flows()).toEqual(['40001', '40002', '40003']);
        await host.portmap('ADD', { ...one, id: 'c2' }, [DNS], conf);
        expect(await flows()).toEqual(['40001', '40003']);
      });

      test('CHECK notices flushed rules, and the next ADD mends them', async () => {
        const [one, two] = [await host.container('c1'), await host.container('c2')];
        await host.portmap('ADD', one, [WEB], conf);
        if (backend === 'nftables')
          await host.ns.run('nft', 'flush', 'chain', 'ip', 'trellis_portmap', 'output');
        else await host.ns.run('iptables', '-t', 'nat', '-F', 'OUTPUT');
        const checked = await host.portmap('CHECK', one, [WEB], conf);
        expect([checked.code, JSON.parse(checked.output)]).toMatchObject([1, { code: 999 }]);
        await host.portmap('ADD', two, [{ ...WEB, hostPort: 8081 }], conf);
        expect(await host.portmap('CHECK', one, [WEB], conf)).toEqual(fine);
        const other = await host.portmap('CHECK', one, [{ ...WEB, hostPort: 8082 }], conf);
        expect(other.output).toContain('8082');
      });

      test('GC leaves what is valid and what is of other networks', async () => {
        const one = await host.container('c1');
        const add = (id: string, hostPort: number, name: string) =>
          host.portmap('ADD', { ...one, id }, [{ ...WEB, hostPort }], { ...conf, name });
        await Promise.all([add('c1', 1001, 'net'), add('c2', 1002, 'net'), add('c3', 1003, 'network')]);
        const gc = (name: string, valid: string[]) =>
          host.run('portmap', 'GC', '', {
            ...conf,
            name,
            'cni.dev/valid-attachments': valid.map((containerID) => ({ containerID, ifname: 'eth0' })),
          });
        const open = () =>
          Promise.all([1001, 1002, 1003].map((port) => ask(host.machine, 'tcp', HOST.v4, port)));
        expect(await gc('net', ['c2'])).toEqual(fine);
        expect(await open()).toEqual(['ECONNREFUSED', `c1 ${MACHINE.v4}`, `c1 ${MACHINE.v4}`]);
        await gc('net', []);
        await gc('network', []);
        expect(await host.traces()).toEqual([]);
      });

      test('without snat sources stay as they are; with masqAll every source is the host', async () => {
        const one = await host.container('c1');
        await host.portmap('ADD', one, [WEB], { ...conf, snat: false });
        expect(await ask(host.machine, 'tcp', HOST.v4, 8080)).toBe(`c1 ${MACHINE.v4}`);
        expect(await ask(one.ns, 'tcp', HOST.v4, 8080)).toBe('silence');
        await host.portmap('ADD', one, [WEB], { ...conf, masqAll: true, markMasqBit: 5 });
        expect(await ask(host.machine, 'tcp', HOST.v4, 8080)).toBe('c1 10.88.0.1');
        expect(await host.portmap('DEL', one, [], conf)).toEqual(fine);
        expect(await host.traces()).toEqual([]);
      });

      test('an ADD that was killed leaves nothing that DEL does not find', async () => {
        const one = await host.container('c1');
        expect((await host.portmap('ADD', one, [WEB], { ...conf, fault: 'portmap' })).code).not.toBe(0);
        expect(await host.traces()).not.toEqual([]);
        await host.portmap('DEL', one, [WEB], conf);
        expect(await host.traces()).toEqual([]);
      });

      test('twenty ADDs and DELs at once: every port is there, then none', async () => {
        const one = await host.container('c1');
        const all = (command: string) =>
          Promise.all(
            Array.from({ length: 20 }, (_, i) =>
              host.portmap(command, { ...one, id: `p${i}` }, [{ ...WEB, hostPort: 2000 + i }], conf),
            ),
          );
        const codes = (answers: { code: number }[]) => new Set(answers.map(({ code }) => code));
        for (const command of ['ADD', 'CHECK', 'DEL'])
          expect(codes(await all(command))).toEqual(new Set([0]));
        expect(await host.traces()).toEqual([]);
      });

      test('STATUS is fine, and what has no host port is not published', async () => {
        const one = await host.container('c1');
        expect(await host.run('portmap', 'STATUS', '', conf)).toEqual(fine);
        const added = await host.portmap('ADD', one, [{ ...WEB, hostPort: 0 }], conf);
        expect(JSON.parse(added.output)).toEqual(one.result);
        expect(await host.traces()).toEqual([]);
      });
    });

    test('nftables: what is published on localhost alone is not for containers that send there', async () => {
      const one = await host.container('c1');
      // Its lo is down, so that 127.0.0.1 leads to the host; and it takes the answer.
      await one.ns.run('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/conf/eth0/route_localnet');
      await host.portmap('ADD', one, [{ ...WEB, hostIP: '127.0.0.1' }]);
      expect(await ask(host.ns, 'tcp', '127.0.0.1', 8080)).toBe('c1 10.88.0.1');
      expect(await ask(one.ns, 'tcp', '127.0.0.1', 8080)).toBe('silence');
      await host.ns.run('nft', 'flush', 'chain', 'ip', 'trellis_portmap', 'prerouting');
      await host.ns.run('nft', 'add', 'rule', 'ip', 'trellis_portmap', 'prerouting', 'jump', 'publish');
      expect(await ask(one.ns, 'tcp', '127.0.0.1', 8080)).toBe('c1 10.88.0.1'); // it was the rule that kept it out
    });

    test('conditions are of iptables and choose who may come in', async () => {
      const one = await host.container('c1');
      const conditions = { conditionsV4: ['!', '-s', `${MACHINE.v4}/32`] };
      await host.portmap('ADD', one, [WEB], conditions);
      expect(await host.traces()).toContainEqual(expect.stringContaining('TRELLIS-HOSTPORTS'));
      expect(await ask(host.machine, 'tcp', HOST.v4, 8080)).toBe('ECONNREFUSED');
      expect(await ask(host.machine, 'tcp', HOST.v6, 8080)).toBe(`c1 ${MACHINE.v6}`);
      expect(await ask(one.ns, 'tcp', HOST.v4, 8080)).toBe('c1 10.88.0.1');
      expect(await host.portmap('CHECK', one, [WEB], conditions)).toEqual(fine);
      const failed = await host.portmap('ADD', { ...one, id: 'c2' }, [WEB], { conditionsV4: ['--no-such'] });
      expect(failed.output).toContain('no-such');
      await host.portmap('DEL', one, [WEB], conditions);
      expect(await host.traces()).toEqual([]);
    });

    test("somebody else's chain can do the marking", async () => {
      const one = await host.container('c1');
      for (const rule of [
        ['-N', 'MARKS'],
        ['-A', 'MARKS', '-j', 'MARK', '--set-xmark', '0x1/0x1'],
        ['-A', 'POSTROUTING', '-m', 'mark', '--mark', '0x1/0x1', '-j', 'MASQUERADE'],
      ])
        await host.ns.run('iptables', '-t', 'nat', ...rule);
      const conf = { externalSetMarkChain: 'MARKS' };
      await host.portmap('ADD', one, [{ ...WEB, hostIP: HOST.v4 }], conf);
      expect(await ask(one.ns, 'tcp', HOST.v4, 8080)).toBe('c1 10.88.0.1');
      expect(await host.traces()).not.toContainEqual(expect.stringContaining('MASQ'));
      await host.portmap('DEL', one, [], conf);
      expect(await host.traces()).toEqual([]);
    });

    test.each([
      [{ hostPort: 65536 }, {}, 'portMappings[1]: hostPort'],
      [{ hostPort: -1 }, {}, 'portMappings[1]: hostPort'],
      [{ containerPort: 0 }, {}, 'portMappings[1]: containerPort'],
      [{ protocol: 'icmp' }, {}, 'portMappings[1]: protocol'],
      [{ hostIP: 'localhost' }, {}, 'portMappings[1]: field "hostIP"'],
      [{}, { markMasqBit: 32 }, 'must be between 0 and 31'],
      [{}, { markMasqBit: 1, externalSetMarkChain: 'X' }, 'externalSetMarkChain and markMasqBit'],
      [{}, { backend: 'ipfw' }, 'unknown backend'],
      [{}, { backend: 'nftables', conditionsV6: ['-s', '::/0'] }, 'conditionsV6'],
      [{}, { conditionsV4: ['-s\n-F'] }, 'line end'],
      [{}, { prevResult: undefined }, 'prevResult'],
    ])('%j with %j is refused with code 7', async (mapping, conf, words) => {
      const result = { cniVersion: '1.1.0', ips: [{ address: '10.88.0.2/24' }], dns: {} };
      const mappings = [WEB, { ...DNS, ...mapping }];
      const { code, output } = await host.portmap('ADD', { id: 'c1', result }, mappings, conf);
      const error = JSON.parse(output) as { code: number; msg: string };
      expect([code, error.code]).toEqual([1, 7]);
      expect(error.msg).toContain(words);
      expect(await host.traces()).toEqual([]);
    });
  },
);
