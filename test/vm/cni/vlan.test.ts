// VLANs of bridge ports, on a kernel whose bridge filters by them: ours and the reference plugin's side by side.
// Guarantees: the host and the container are namespaces of the test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callPlugin, PLUGIN_DIR } from '../../support/cniPlugin.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const REFERENCE = '/usr/lib/cni';
let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'trellis-vlan-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

interface PortVlans {
  ifname: string;
  vlans: { vlan: number; flags?: string[] }[];
}

/** The VLANs of the container's port; names are random. */
async function portVlans(host: TestNetNs): Promise<PortVlans['vlans'][]> {
  const all = await host.json<PortVlans[]>('bridge', '-j', 'vlan', 'show');
  return all.filter(({ ifname }) => ifname.startsWith('veth')).map(({ vlans }) => vlans);
}

const needs = {
  root: true,
  tools: ['bridge', 'nsenter'],
  features: ['bridge-vlan-filtering'],
  files: [path.join(PLUGIN_DIR, 'bridge'), path.join(REFERENCE, 'bridge')],
};

describeWith(needs, 'VLANs of the bridge plugin', () => {
  const namespaces = netNsPerTest();
  const added = async (binDir: string, fields: object) => {
    const [host, pod] = [await namespaces.make(), await namespaces.make()];
    const config = {
      cniVersion: '1.0.0',
      name: 'net',
      type: 'bridge',
      bridge: 'br0',
      ipam: { type: 'host-local', dataDir: path.join(dataDir, host.name), subnet: '10.87.0.0/24' },
      ...fields,
    };
    const answer = await callPlugin({ host, command: 'ADD', config, netns: pod.path, binDir });
    expect(answer).toMatchObject({ exitCode: 0 });
    return portVlans(host);
  };

  test('puts the container into its VLAN as the reference plugin does', async () => {
    const ours = await added(PLUGIN_DIR, { vlan: 100 });
    expect(ours).toEqual(await added(REFERENCE, { vlan: 100 }));
    expect(ours[0]).toContainEqual({ vlan: 100, flags: ['PVID', 'Egress Untagged'] });
  });

  // vlanTrunk is newer than Debian's reference plugin.
  test('gives the container a trunk of VLANs', async () => {
    const [vlans] = await added(PLUGIN_DIR, { vlanTrunk: [{ id: 42 }, { minID: 1000, maxID: 1010 }] });
    const tagged = vlans?.filter(({ flags }) => flags === undefined).map(({ vlan }) => vlan);
    expect(tagged).toEqual([42, ...Array.from({ length: 11 }, (_, i) => 1000 + i)]);
  });
});
