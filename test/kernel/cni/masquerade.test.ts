// ipMasq of our bridge plugin in nf_tables, where many calls meet: the rules exist once, are mended, and go with the last pod.
// Guarantees: the host is a namespace of the test; files lie in a folder of its own.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const PLUGINS = path.resolve('dist/cni');
const SUBNET_CHAIN = 'to_10.89.0.0_24';
let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-masquerade-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const config = (prevResult?: unknown) => ({
  cniVersion: '1.0.0',
  name: 'net',
  type: 'bridge',
  bridge: 'br0',
  isGateway: true,
  ipMasq: true,
  ipMasqBackend: 'nftables',
  ipam: { type: 'host-local', dataDir: root, ranges: [[{ subnet: '10.89.0.0/24' }]] },
  ...(prevResult === undefined ? {} : { prevResult }),
});

/** Runs the plugin in the host for a pod; rejects with what it printed. */
function call(command: string, host: TestNetNs, pod: TestNetNs, prevResult?: unknown): Promise<unknown> {
  const env = { CNI_COMMAND: command, CNI_CONTAINERID: pod.name, CNI_NETNS: pod.path, CNI_IFNAME: 'eth0' };
  return new Promise((resolve, reject) => {
    const child = execFile(
      'nsenter',
      [`--net=${host.path}`, path.join(PLUGINS, 'bridge')],
      { env: { ...process.env, ...env, CNI_PATH: PLUGINS } },
      (error, stdout) => (error === null ? resolve(stdout && JSON.parse(stdout)) : reject(new Error(stdout))),
    );
    child.stdin?.end(JSON.stringify(config(prevResult)));
  });
}

/** How many rules a chain of ours has. */
async function rulesOf(host: TestNetNs, chain: string): Promise<number> {
  const { nftables } = await host.json<{ nftables: { rule?: object }[] }>(
    'nft',
    '-j',
    'list',
    'chain',
    'ip',
    'trellis_cni',
    chain,
  );
  return nftables.filter(({ rule }) => rule !== undefined).length;
}

describeWith(
  {
    root: true,
    tools: ['nft', 'nsenter'],
    files: [path.join(PLUGINS, 'bridge')],
    features: ['veth', 'bridge', 'nft-nat'],
  },
  'masquerading of the bridge plugin',
  () => {
    const namespaces = netNsPerTest();
    const pods = (count: number) => Promise.all(Array.from({ length: count }, () => namespaces.make()));

    test('pods added at once share one set of rules, which goes with the last of them', async () => {
      const host = await namespaces.make();
      const added = await pods(12);
      const results = await Promise.all(added.map((pod) => call('ADD', host, pod)));
      expect([await rulesOf(host, 'postrouting'), await rulesOf(host, SUBNET_CHAIN)]).toEqual([1, 2]);
      const map = await host.run('nft', 'list', 'map', 'ip', 'trellis_cni', 'pods');
      expect(map.match(/goto/g)).toHaveLength(12);
      await Promise.all(added.slice(1).map((pod, i) => call('DEL', host, pod, results[i + 1])));
      expect(await host.run('nft', 'list', 'map', 'ip', 'trellis_cni', 'pods')).toMatch(/goto/);
      const [first] = added;
      if (first !== undefined) await call('DEL', host, first, results[0]);
      expect(await host.run('nft', 'list', 'tables')).toBe('');
    });

    test.each(['postrouting', SUBNET_CHAIN])(
      'CHECK misses rules flushed from %s, the next ADD mends them',
      async (chain) => {
        const host = await namespaces.make();
        const [first, second] = [await namespaces.make(), await namespaces.make()];
        const result = await call('ADD', host, first);
        await call('CHECK', host, first, result);
        await host.run('nft', 'flush', 'chain', 'ip', 'trellis_cni', chain);
        await expect(call('CHECK', host, first, result)).rejects.toThrow('masquerading of 10.89.0.2 is gone');
        await call('ADD', host, second);
        await call('CHECK', host, first, result);
        expect([await rulesOf(host, 'postrouting'), await rulesOf(host, SUBNET_CHAIN)]).toEqual([1, 2]);
      },
    );

    test('DEL of a pod whose rules are gone already succeeds, with and without its result', async () => {
      const host = await namespaces.make();
      const pod = await namespaces.make();
      const result = await call('ADD', host, pod);
      await host.run('nft', 'flush', 'ruleset');
      await expect(call('DEL', host, pod, result)).resolves.toBe('');
      await expect(call('DEL', host, pod)).resolves.toBe('');
      expect(readdirSync(path.join(root, 'net')).filter((name) => name.startsWith('10.'))).toEqual([]);
      expect(await pod.run('ip', '-br', 'link')).not.toContain('eth0');
    });
  },
);
