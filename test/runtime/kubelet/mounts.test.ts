// Mounts between node and containers: how each mode of propagation carries them, and what of /proc a container sees.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1HostPathVolumeSource, V1SecurityContext } from '../../../src/api/gen/types.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';

describeWith(NEEDS, 'mounts between node and containers', () => {
  let pods: PodNode;
  const onNode = (file: string, ...args: readonly string[]) => pods.node.node.run(file, ...args);
  const sharing = (mountPropagation: string, securityContext: V1SecurityContext = {}) => ({
    volumes: [{ name: 'shared', hostPath: { path: pods.at('shared') } }],
    containers: [
      shell(SLEEP, {
        securityContext,
        volumeMounts: [{ name: 'shared', mountPath: '/shared', mountPropagation }],
      }),
    ],
  });
  const listed = (pod: string, dir: string) => pods.inside(pod, `busybox ls /shared/${dir}`);

  beforeAll(async () => {
    pods = await PodNode.start();
    mkdirSync(pods.at('shared/of-pod'), { recursive: true });
    mkdirSync(pods.at('shared/of-node'));
    await onNode('mount', '--bind', pods.at('shared'), pods.at('shared'));
    await onNode('mount', '--make-shared', pods.at('shared'));
  });
  afterAll(() => pods?.stop());

  test('propagation: both ways, from the node, not at all', async () => {
    const privileged = { privileged: true };
    await pods.create('both', sharing('Bidirectional', privileged));
    await pods.create('slave', sharing('HostToContainer', privileged));
    await pods.create('none', sharing('None'));
    for (const name of ['both', 'slave', 'none']) await pods.running(name);
    const mounted = (dir: string) =>
      `busybox mount -t tmpfs made /shared/${dir} && echo > /shared/${dir}/file`;
    await pods.inside('both', mounted('of-pod'));
    expect(await onNode('ls', pods.at('shared/of-pod'))).toBe('file\n');
    expect(await listed('slave', 'of-pod')).toBe('file');
    expect(await listed('none', 'of-pod')).toBe('');
    await pods.inside('both', 'busybox umount /shared/of-pod');
    expect(await onNode('ls', pods.at('shared/of-pod'))).toBe('');
    expect(await listed('slave', 'of-pod')).toBe('');
    await pods.inside('slave', mounted('of-pod'));
    expect(await listed('slave', 'of-pod')).toBe('file');
    expect(await onNode('ls', pods.at('shared/of-pod'))).toBe('');
    expect(await listed('both', 'of-pod')).toBe('');
    await onNode('mount', '-t', 'tmpfs', 'made', pods.at('shared/of-node'));
    await onNode('touch', pods.at('shared/of-node/file'));
    const seen = await Promise.all(['both', 'slave', 'none'].map((name) => listed(name, 'of-node')));
    expect(seen).toEqual(['file', 'file', '']);
    await onNode('umount', pods.at('shared/of-node'));
    expect(await listed('both', 'of-node')).toBe('');
    await pods.remove('both', 'slave', 'none');
    await expect(pods.create('weak', sharing('Bidirectional'))).rejects.toThrow(
      'Bidirectional mount propagation is available only to privileged containers',
    );
  });

  test('/proc: what is masked, what a privileged container sees, and an open one only with users of its own', async () => {
    const look =
      'busybox stat -c %F /proc/keys; busybox ls /sys/firmware | busybox wc -l; (echo 0 > /proc/sys/vm/drop_caches) 2>/dev/null && echo writable || echo read-only; busybox grep -c " /proc/" /proc/self/mountinfo';
    const masked = await pods.told('masked', look, { securityContext: { procMount: 'Default' } });
    expect(masked.slice(0, 3)).toEqual(['character special file', '0', 'read-only']);
    expect(Number(masked[3])).toBeGreaterThan(5);
    const [keys, , , mounts] = await pods.told('open', look, { securityContext: { privileged: true } });
    expect([keys, mounts]).toEqual(['regular empty file', '0']);
    const unmasked = { containers: [shell(SLEEP, { securityContext: { procMount: 'Unmasked' } })] };
    await expect(pods.create('refused', unmasked)).rejects.toThrow(
      'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
    );
    await pods.create('mapped', { ...unmasked, hostUsers: false });
    const { handlers } = await pods.node.cri.runtime.status();
    if (handlers.find(({ name }) => name === '')?.features.userNamespaces === true) {
      await pods.running('mapped');
      expect(await pods.inside('mapped', 'busybox grep -c " /proc/" /proc/self/mountinfo || true')).toBe('0');
    } else
      expect(
        (await pods.event('mapped', ({ reason }) => reason === 'FailedCreatePodSandBox')).message,
      ).toContain("can't set `spec.hostUsers: false`, runtime does not support user namespaces");
    await pods.drop('mapped');
  });

  test('paths of the node: each type is what it says, made where it says so, or refused', async () => {
    mkdirSync(pods.at('paths'));
    writeFileSync(pods.at('paths/file'), 'kept');
    const server = createServer().listen(pods.at('paths/socket'));
    await onNode('mknod', pods.at('paths/block'), 'b', '7', '77');
    const source = (name: string, type?: string): V1HostPathVolumeSource => ({
      path: type === 'CharDevice' ? '/dev/null' : pods.at(`paths/${name}`),
      ...(type === undefined ? {} : { type }),
    });
    const found: readonly [string, V1HostPathVolumeSource][] = [
      ['any', { path: pods.at('paths') }],
      ['directory', { path: pods.at('paths'), type: 'Directory' }],
      ['made', source('new/directory', 'DirectoryOrCreate')],
      ['file', source('file', 'File')],
      ['touched', source('touched', 'FileOrCreate')],
      ['socket', source('socket', 'Socket')],
      ['char', source('', 'CharDevice')],
      ['block', source('block', 'BlockDevice')],
    ];
    const lines = await pods.told(
      'typed',
      'cd /paths; for name in *; do echo $name $(busybox stat -c %F $name); done; cat file',
      { volumeMounts: found.map(([name]) => ({ name, mountPath: `/paths/${name}` })) },
      { volumes: found.map(([name, hostPath]) => ({ name, hostPath })) },
    );
    expect(lines).toEqual([
      'any directory',
      'block block special file',
      'char character special file',
      'directory directory',
      'file regular file',
      'made directory',
      'socket socket',
      'touched regular empty file',
      'kept',
    ]);
    const wrong = ['Directory', 'Socket', 'CharDevice', 'BlockDevice'];
    for (const type of wrong)
      await pods.create(`no-${type.toLowerCase()}`, {
        volumes: [{ name: 'path', hostPath: { path: pods.at('paths/file'), type } }],
        containers: [shell(SLEEP, { volumeMounts: [{ name: 'path', mountPath: '/path' }] })],
      });
    const nouns = ['a directory', 'a socket file', 'a character device', 'a block device'];
    for (const [index, type] of wrong.entries())
      expect(
        (await pods.event(`no-${type.toLowerCase()}`, ({ reason }) => reason === 'FailedMount')).message,
      ).toBe(
        `MountVolume.SetUp failed for volume "path" : hostPath type check failed: ${pods.at('paths/file')} is not ${nouns[index]}`,
      );
    await pods.drop(...wrong.map((type) => `no-${type.toLowerCase()}`));
    server.close();
    rmSync(pods.at('paths'), { recursive: true });
  });
});
