// containerd as a cluster configures it pulls from our registry, runs pods with our network, and is swept away.
import { afterEach, expect, test } from 'vitest';
import { BUSYBOX_IMAGE, PAUSE_IMAGE } from '../../../src/cluster/images/builtin.js';
import { ClusterNode } from '../../support/clusterNode.js';
import { containerOf } from '../../support/criNode.js';
import { BUSYBOX } from '../../support/imageArchive.js';
import { describeWith } from '../../support/requires.js';

const needs = {
  root: true,
  tools: ['containerd', 'runc', 'nsenter'],
  files: [BUSYBOX],
  features: ['veth', 'bridge'],
};

describeWith(needs, 'containerd of a cluster', () => {
  let made: ClusterNode | undefined;
  const start = async (...options: Parameters<typeof ClusterNode.start>) => {
    made = await ClusterNode.start(...options);
    return made;
  };
  afterEach(async (context) => {
    if (context.task.result?.state === 'fail') console.error(made?.output());
    await made?.stop();
    made = undefined;
  });

  const runPod = async (node: ClusterNode, name: string) => {
    const { runtime, images } = node.cri;
    await images.pullImage(BUSYBOX_IMAGE);
    const pod = node.pod(name);
    const sandbox = await runtime.runPodSandbox(pod);
    const config = containerOf(name, ['sh', '-c', 'while true; do sleep 1; done'], BUSYBOX_IMAGE);
    const id = await runtime.createContainer(sandbox, config, pod);
    await runtime.startContainer(id);
    return { sandbox, id };
  };

  test('pulls over TLS and runs: two pods reach each other, with pause and busybox made here', async () => {
    const node = await start();
    const { runtime, images } = node.cri;
    const [first, second] = [await runPod(node, 'first'), await runPod(node, 'second')];
    const address = (await runtime.podSandboxStatus(second.sandbox)).network?.ip ?? '';
    expect(address).toMatch(/^10\.77\.0\.\d+$/);
    const ping = await runtime.execSync(first.id, ['ping', '-c', '1', '-W', '5', address], 10);
    expect(String(ping.stdout)).toContain('1 packets received');
    const user = await runtime.execSync(first.id, ['sh', '-c', 'id -un; hostname; ls -d /tmp'], 10);
    expect(String(user.stdout)).toBe('root\nfirst\n/tmp\n');
    const tags = (await images.listImages()).flatMap(({ repoTags }) => repoTags);
    expect(tags).toEqual(expect.arrayContaining([BUSYBOX_IMAGE, PAUSE_IMAGE]));
    await expect(images.pullImage('trellis.local/none:latest')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    // pause ends when asked to, not only when killed.
    await runtime.stopContainer(first.id, 0);
    await runtime.stopPodSandbox(first.sandbox);
    await runtime.removePodSandbox(first.sandbox);
    expect(await runtime.listPodSandbox()).toHaveLength(1);
  });

  test('what a killed containerd leaves is found and ended, and nothing else', async () => {
    const node = await start({ snapshotter: 'native' });
    await runPod(node, 'left');
    const processes = async () => (await node.node.run('busybox', 'ps', '-o', 'args')).trim().split('\n');
    // Those that wait to be reaped, which ps shows in brackets, have ended.
    const containers = async () =>
      (await processes()).filter(
        (line) => /^\S*(containerd|\/pause)|while true/.test(line) && !/^\[/.test(line),
      );
    const bystander = node.node.startDaemon('sleep', '4321');
    expect((await containers()).length).toBeGreaterThanOrEqual(4);
    const { killed, unmounted } = await node.killRemains();
    expect(killed.length).toBeGreaterThanOrEqual(4); // containerd, shim, pause, busybox
    expect(unmounted.some((point) => point.includes('/netns/'))).toBe(true);
    expect(await containers()).toEqual([]);
    expect(await processes()).toContain('sleep 4321');
    expect(await node.node.run('cat', '/proc/self/mountinfo')).not.toContain(node.paths.state);
    expect(await node.node.run('ls', '/run/containerd/s')).toBe('');
    expect(await node.killRemains()).toEqual({ killed: [], unmounted: [] });
    expect(bystander.output()).toBe('');
  });

  test('containers whose shim was killed as well are found by their control groups', async () => {
    const node = await start();
    await runPod(node, 'orphan');
    const lines = (await node.node.run('busybox', 'ps', '-o', 'pid,args')).split('\n');
    // containerd itself first, or it would clean up after the shim.
    const pids = lines.flatMap((line) => /^\s*(\d+) \S*containerd(?:-shim\S*)? /.exec(line)?.[1] ?? []);
    expect(pids.length).toBeGreaterThanOrEqual(2);
    await node.node.run('kill', '-9', ...pids);
    const { killed } = await node.killRemains();
    expect(killed.length).toBeGreaterThanOrEqual(2);
    const left = await node.node.run('busybox', 'ps', '-o', 'args');
    expect(left.split('\n').filter((line) => /^\/pause|while true/.test(line))).toEqual([]);
  });
});
