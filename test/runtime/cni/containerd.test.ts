// containerd runs pods over CRI with our plugins: they get addresses, reach each other and the host, and leave nothing.
// Guarantees: its own root, state, socket and machine; the images are made here.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CriClient, field, type Message } from '../../support/criClient.js';
import { podNetwork } from '../../support/criNode.js';
import { BUSYBOX, IMAGE, makeImageArchive } from '../../support/imageArchive.js';
import { IsolatedNode } from '../../support/isolatedNode.js';
import type { TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const PLUGINS = path.resolve('dist/cni');
const CAP_SYS_RESOURCE = 24n;

const configuration = ({ directory }: IsolatedNode, restrictOom: boolean) => `
version = 2
root = "${directory}/root"
state = "/run/containerd"
[grpc]
  address = "${directory}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${directory}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${IMAGE}"
  restrict_oom_score_adj = ${restrictOom}
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${PLUGINS}"
    conf_dir = "${directory}/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
`;

const pod = (name: string, cgroupParent: string): Message => ({
  1: { 1: name, 2: `${name}-uid`, 3: 'default' },
  3: '/run/pod-logs',
  8: { 1: cgroupParent },
});

/** Whether this process may lower oom_score_adj; containerd is told to leave it alone where not. */
async function lacksSysResource(node: IsolatedNode): Promise<boolean> {
  const mask = /CapEff:\s*(\w+)/.exec(await node.run('cat', '/proc/self/status'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & (1n << CAP_SYS_RESOURCE)) === 0n;
}

describeWith(
  {
    root: true,
    tools: ['containerd', 'runc', 'ctr', 'nsenter', 'tar'],
    files: [BUSYBOX],
    features: ['veth', 'bridge'],
  },
  'containerd with our plugins',
  () => {
    let host: TestNetNs;
    let node: IsolatedNode;
    let cri: CriClient;
    let daemon: { output(): string };
    beforeEach(async () => {
      ({ host, node } = await IsolatedNode.startWith(podNetwork));
      const config = path.join(node.directory, 'config.toml');
      writeFileSync(config, configuration(node, await lacksSysResource(node)));
      daemon = node.startDaemon('containerd', '--config', config);
      const socket = path.join(node.directory, 'containerd.sock');
      for (let i = 0; i < 100 && !existsSync(socket); i++) await sleep(100);
      await node.run(
        'ctr',
        '-a',
        socket,
        '-n',
        'k8s.io',
        'images',
        'import',
        makeImageArchive(node.directory),
      );
      cri = new CriClient(socket);
    });
    afterEach(async (context) => {
      if (context.task.result?.state === 'fail') console.error(daemon?.output());
      cri?.close();
      await node?.stop();
      await host?.remove();
    });

    const runPod = async (name: string) => {
      const reply = await cri.call('RunPodSandbox', { 1: pod(name, node.cgroupParent) });
      const id = String(field(reply, 1));
      const status = await cri.call('PodSandboxStatus', { 1: id });
      return { id, address: String(field(status, 1, 5, 1)) };
    };
    const ping = (address: string) => ['busybox', 'ping', '-c', '1', '-W', '2', address] as const;
    const addresses = () =>
      readdirSync(`${node.directory}/addresses/pods`).filter((name) => name.startsWith('10.'));

    test('two pods get addresses, reach each other and the host, and leave nothing', async () => {
      const [first, second] = [await runPod('first'), await runPod('second')];
      expect([first.address, second.address]).toEqual(['10.77.0.2', '10.77.0.3']);
      const netns = (await node.run('ls', '/run/netns')).trim().split('\n');
      expect(netns).toHaveLength(2);
      await host.run(...ping(first.address));
      for (const name of netns)
        for (const address of ['10.77.0.1', first.address, second.address])
          expect(await node.run('nsenter', `--net=/run/netns/${name}`, ...ping(address))).toContain(
            '1 packets received',
          );
      for (const { id } of [first, second]) {
        await cri.call('StopPodSandbox', { 1: id });
        await cri.call('RemovePodSandbox', { 1: id });
      }
      expect(await node.run('ls', '/run/netns')).toBe('');
      expect(addresses()).toEqual([]);
      expect(await host.run('ip', '-br', 'link', 'show', 'type', 'veth')).toBe('');
      expect(await host.run('nft', 'list', 'tables')).not.toContain('trellis_cni');
    });

    test('a pod whose network cannot be made says why', async () => {
      const taken = podNetwork(node.directory);
      taken.plugins[0]?.ipam?.ranges[0]?.splice(0, 1, { subnet: '10.77.0.0/30' });
      writeFileSync(path.join(node.directory, 'net.d', '10-pods.conflist'), JSON.stringify(taken));
      await sleep(500); // containerd reads the folder again when it changes
      await runPod('first');
      await expect(runPod('second')).rejects.toThrow('no IP addresses available in range set');
      expect(addresses()).toEqual(['10.77.0.2']);
    });
  },
);
