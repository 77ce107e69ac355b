// podman with its CNI back end runs containers with our plugins: they reach each other, the host and a published port.
// Guarantees: its own storage, state and machine; the image is made here.
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BUSYBOX, IMAGE, makeImageArchive } from '../../support/imageArchive.js';
import { IsolatedNode } from '../../support/isolatedNode.js';
import type { TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const PLUGINS = path.resolve('dist/cni');

const settings = `
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "cni"
cni_plugin_dirs = ["${PLUGINS}"]
`;

const network = (directory: string) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      capabilities: { ips: true, mac: true },
      ipam: {
        type: 'host-local',
        dataDir: `${directory}/addresses`,
        ranges: [[{ subnet: '10.78.0.0/24', gateway: '10.78.0.1' }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

describeWith(
  {
    root: true,
    tools: ['podman', 'conmon', 'runc', 'nsenter', 'tar'],
    files: [BUSYBOX],
    features: ['veth', 'bridge'],
  },
  'podman with our plugins',
  () => {
    let host: TestNetNs;
    let node: IsolatedNode;
    beforeEach(async () => {
      ({ host, node } = await IsolatedNode.startWith(network));
      writeFileSync(path.join(node.directory, 'containers.conf'), settings);
      await podman('load', '--input', makeImageArchive(node.directory));
    });
    afterEach(async () => {
      await node?.stop();
      await host?.remove();
    });

    const podman = (...args: string[]) => {
      const { directory } = node;
      const own = ['--root', `${directory}/storage`, '--runroot', '/run/podman', '--storage-driver', 'vfs'];
      const net = ['--network-config-dir', `${directory}/net.d`];
      const conf = `CONTAINERS_CONF=${directory}/containers.conf`;
      return node.run('env', conf, 'podman', ...own, ...net, ...args);
    };
    const run = async (name: string, ...options: string[]) => {
      const cgroup = ['--cgroup-parent', node.cgroupParent]; // runc cannot do without control groups
      await podman('run', '--detach', '--name', name, '--network', 'pods', ...cgroup, ...options, IMAGE);
      const address = await podman(
        'inspect',
        '--format',
        '{{.NetworkSettings.Networks.pods.IPAddress}}',
        name,
      );
      return address.trim();
    };
    const pingFrom = (name: string, address: string) =>
      podman('exec', name, 'ping', '-c', '1', '-W', '2', address);

    test('two containers reach each other and the host, and leave nothing', async () => {
      const [first, second] = [await run('first'), await run('second')];
      expect([first, second]).toEqual(['10.78.0.2', '10.78.0.3']);
      expect(await pingFrom('first', second)).toContain('1 packets received');
      expect(await pingFrom('second', first)).toContain('1 packets received');
      expect(await pingFrom('first', '10.78.0.1')).toContain('1 packets received');
      expect(await host.run('busybox', 'ping', '-c', '1', '-W', '2', second)).toContain('1 packets received');
      await podman('rm', '--force', '--time', '0', 'first', 'second');
      expect(
        readdirSync(`${node.directory}/addresses/pods`).filter((name) => name.startsWith('10.')),
      ).toEqual([]);
      expect(await host.run('ip', '-br', 'link', 'show', 'type', 'veth')).toBe('');
      expect(await host.run('nft', 'list', 'tables')).not.toContain('trellis_cni');
    });

    test('a container has the address and the MAC address that were asked for', async () => {
      const address = await run('asked', '--ip', '10.78.0.77', '--mac-address', '02:11:22:33:44:55');
      expect(address).toBe('10.78.0.77');
      expect(await podman('exec', 'asked', 'ip', 'link', 'show', 'eth0')).toContain('02:11:22:33:44:55');
    });

    test('a published port is reached from the host and from another container', async () => {
      await run('server', '--publish', '8080:80');
      await podman('exec', '--detach', 'server', 'nc', '-ll', '-p', '80', '-e', '/bin/echo', 'hello');
      await run('client');
      const ask = ['nc', '-w', '2', '10.78.0.1', '8080'];
      // The server needs a moment before it listens.
      await expect.poll(() => host.run('busybox', ...ask).catch(String)).toBe('hello\n');
      expect(await podman('exec', 'client', ...ask)).toBe('hello\n');
    });
  },
);
