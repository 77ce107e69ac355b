import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { saveComponents, savedProxy } from '../../../src/cluster/componentFiles.js';
import { layoutOf } from '../../../src/cluster/layout.js';
import { modeOptions, removalOptions } from '../../../src/cluster/proxyMode.js';
import { settle } from '../../../src/proxy/config.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-mode-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const FILE = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
ipvs: { scheduler: lc, excludeCIDRs: [10.200.0.0/16], strictARP: true, tcpTimeout: 15m }
iptables: { masqueradeBit: 7 }
nftables: { masqueradeBit: 9 }
`;
const IPVS = { scheduler: 'lc', excludeCidrs: ['10.200.0.0/16'], strictArp: true, timeouts: { tcp: 900 } };

async function cluster(text: string | undefined) {
  const layout = layoutOf(dir);
  await saveComponents(layout, new Map(text === undefined ? [] : [['KubeProxyConfiguration', text]]));
  return layout;
}

test('a node’s proxy is made with what the cluster’s file says of the mode', async () => {
  const layout = await cluster(FILE);
  const of = async (mode: 'ipvs' | 'nftables') =>
    modeOptions(layout, settle(await savedProxy(layout, mode), { clusterCidrs: ['10.244.0.0/16'] }), {
      ips: ['192.168.0.1'],
      podCidrs: [],
    });
  expect(await of('ipvs')).toMatchObject({
    table: layout.proxyTable,
    families: ['ip'],
    traffic: { ip: { masqueradeBit: 7, nodeIps: ['192.168.0.1'] } },
    ipvs: IPVS,
  });
  expect(await of('nftables')).toMatchObject({ traffic: { ip: { masqueradeBit: 9 } } });
});

test.each([
  ['of the file', FILE, ['10.200.0.0/16']],
  ['of no file', undefined, []],
  ['of a file that cannot be read', 'kind: Nonsense', []],
])('rules are removed in both families, but not in the networks %s', async (_, text, excludeCidrs) => {
  expect(await removalOptions(await cluster(text), 'ipvs')).toMatchObject({
    families: ['ip', 'ip6'],
    ipvs: { excludeCidrs },
  });
});
