// A node that runs short: what it frees, whom it ends, and what it tells. The thresholds make a healthy machine look short.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { NODES } from '../../../src/api/resources.js';
import { IMAGE, makeImageArchive } from '../../support/imageArchive.js';
import { ApiNode, NODE, SLEEP, shell } from '../../support/kubelet/apiNode.js';
import { describeWith } from '../../support/requires.js';
import { eventually } from '../../support/testCluster.js';

const needs = { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox'] };
/** Each waits for rounds of the eviction manager; by default one of them does. */
const LONG = process.env['TRELLIS_PROOF'] === 'long';
const UNUSED = 'localhost/trellis/unused:1';
const sized = shell(SLEEP, { resources: { limits: { cpu: '10m', memory: '64Mi' } } });

describeWith(needs, 'a node under pressure', () => {
  let node: ApiNode | undefined;
  afterEach(async () => {
    await node?.stop();
    node = undefined;
  });

  const condition = async (wanted: string) => {
    const { status } = await (node as ApiNode).client.of(NODES).get({ name: NODE });
    return status.conditions?.find(({ type }) => type === wanted)?.status;
  };

  test.runIf(LONG)('of memory: who asked for nothing goes first, and no more of them are taken', async () => {
    node = await ApiNode.start({
      evictionSoft: { 'memory.available': '100%' },
      evictionSoftGrace: { 'memory.available': 1000 },
    });
    await node.create('best-effort', { containers: [shell(SLEEP)] });
    await node.create('guaranteed', { containers: [sized] });
    await node.running('guaranteed');
    const { status } = await node.ended('best-effort');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(status.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: \d+Ki, available: \d+Ki\./,
    );
    await eventually(
      () => condition('MemoryPressure'),
      (is) => is === 'True',
    );
    await node.create('late', { containers: [shell(SLEEP)] });
    expect((await node.ended('late')).status).toMatchObject({ reason: 'Evicted' });
    await node.create('welcome', { containers: [sized] });
    await node.running('welcome');
  });

  test('of disk: images that nobody uses are removed before any pod is ended', async () => {
    node = await ApiNode.start({ evictionHard: { 'nodefs.available': '100%' } });
    const { directory } = node.node.node;
    const ctr = (...words: string[]) =>
      (node as ApiNode).node.node.run(
        'ctr',
        '-a',
        path.join(directory, 'containerd.sock'),
        '-n',
        'k8s.io',
        ...words,
      );
    const images = async () =>
      (await (node as ApiNode).node.cri.images.listImages()).flatMap(({ repoTags }) => repoTags);
    await ctr('images', 'import', makeImageArchive(directory, UNUSED));
    expect(await images()).toContain(UNUSED);
    await node.create('user', { containers: [shell(SLEEP)] });
    await node.running('user');
    await eventually(images, (tags) => !tags.includes(UNUSED));
    expect(await images()).toContain(IMAGE);
    await eventually(
      () => condition('DiskPressure'),
      (is) => is === 'True',
    );
    expect((await node.ended('user')).status).toMatchObject({ reason: 'Evicted' });
  });

  test('a disk that is full: who filled it goes, its neighbour and the node stay, and then pods are taken again', async () => {
    const disk = mkdtempSync(path.join(tmpdir(), 'trellis-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=192m', 'tmpfs', disk]);
    vi.stubEnv('TMPDIR', disk);
    try {
      node = await ApiNode.start({
        evictionHard: { 'nodefs.available': '20%' },
        evictionPeriodMs: 500,
        evictionPressureTransition: 1_000,
      });
      const volumes = [{ name: 'data', emptyDir: {} }];
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      const filling = 'busybox dd if=/dev/zero of=/data/fill bs=1M; exec sleep 10000';
      await node.create('modest', { volumes, containers: [shell(SLEEP, { volumeMounts })] });
      await node.running('modest');
      await node.create('filler', { volumes, containers: [shell(filling, { volumeMounts })] });
      const { status } = await node.ended('filler');
      expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
      expect(status.message).toMatch(
        /^The node was low on resource: ephemeral-storage\. Threshold quantity: /,
      );
      await node.event('filler', ({ reason }) => reason === 'Evicted');
      expect(await node.readiness()).toBe('True');
      expect((await node.get('modest'))?.status.phase).toBe('Running');
      const pressed = async () => (await condition('DiskPressure')) ?? '';
      await eventually(pressed, (is) => is === 'False');
      await node.create('after', { containers: [shell(SLEEP)] });
      await node.running('after');
    } finally {
      vi.unstubAllEnvs();
      await node?.stop();
      node = undefined;
      execFileSync('umount', [disk]);
      rmdirSync(disk);
    }
  });

  test.runIf(LONG)(
    'of its own volume: a pod over its limit of disk goes, and its neighbour stays',
    async () => {
      node = await ApiNode.start();
      const volumes = [{ name: 'data', emptyDir: { sizeLimit: '1Mi' } }];
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      const filling = 'busybox dd if=/dev/zero of=/data/fill bs=64k count=64; exec sleep 10000';
      await node.create('greedy', { volumes, containers: [shell(filling, { volumeMounts })] });
      await node.create('modest', { volumes, containers: [shell(SLEEP, { volumeMounts })] });
      const { status } = await node.ended('greedy');
      expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
      expect(status.message).toContain('exceeds the limit "1Mi"');
      expect((await node.get('modest'))?.status.phase).toBe('Running');
    },
  );
});
