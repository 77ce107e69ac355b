// Volumes with real mounts, ownership and clean-up.
// Guarantees: nothing of a pod outlives its tear-down, and nothing outside its directory is touched.
import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { V1PodSpec } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import { CONFIG_MAPS, SECRETS } from '../../../src/api/resources.js';
import { containerMounts } from '../../../src/kubelet/environment/mounts.js';
import { mountPoints } from '../../../src/kubelet/volumes/mountTable.js';
import { NodeVolumes } from '../../../src/kubelet/volumes/podVolumes.js';
import { TokenManager } from '../../../src/kubelet/volumes/tokens.js';
import { FakeApi } from '../../support/fakeApi.js';
import { podWith } from '../../support/kubelet/podparts.js';
import { describeWith } from '../../support/requires.js';

const TMPFS = 0x01021994;

describeWith({ root: true, tools: ['mount', 'umount'] }, 'volumes of pods', () => {
  let rootDir: string;
  let outside: string;
  beforeEach(async () => {
    rootDir = await realpath(await mkdtemp(path.join(tmpdir(), 'trellis-kubelet-')));
    outside = await realpath(await mkdtemp(path.join(tmpdir(), 'trellis-outside-')));
  });
  afterEach(async () => {
    for (const point of (await mountPoints()).filter((one) => one.startsWith(`${rootDir}/`)).reverse())
      execFileSync('umount', [point]);
    await rm(rootDir, { recursive: true, force: true });
    await rm(outside, { recursive: true, force: true });
  });

  function scene(spec: Partial<V1PodSpec>) {
    const client = new FakeApi();
    const clock = { ms: 0 };
    client.put(CONFIG_MAPS, {
      metadata: { name: 'settings', namespace: 'shop' },
      data: { color: 'red' },
    } as object);
    client.put(SECRETS, {
      metadata: { name: 'login', namespace: 'shop' },
      data: { user: 'ZXZl' },
    } as object);
    client.answer = () => ({
      status: { token: 'the-token', expirationTimestamp: new Date(3_600_000).toISOString() },
    });
    const tokens = new TokenManager({ client, now: () => clock.ms });
    const volumes = new NodeVolumes({ rootDir, client, tokens, log: silentLog, now: () => clock.ms });
    return { client, clock, volumes, pod: podWith(spec, { labels: { app: 'web' } }) };
  }
  const mountsHere = async () => (await mountPoints()).filter((point) => point.startsWith(`${rootDir}/`));
  const modeOf = async (file: string) => (await stat(file)).mode & 0o7777;

  test('every kind is where Kubernetes has it, memory where it says so, and all of it goes', async () => {
    await writeFile(path.join(outside, 'precious'), 'keep');
    const { volumes, pod } = scene({
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'host', hostPath: { path: outside, type: 'Directory' } },
        { name: 'cm', configMap: { name: 'settings', defaultMode: 0o440 } },
        { name: 'secret', secret: { secretName: 'login' } },
        { name: 'down', downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        {
          name: 'all',
          projected: {
            sources: [
              { serviceAccountToken: { path: 'token' } },
              { configMap: { name: 'settings', items: [{ key: 'color', path: 'sub/c', mode: 0o400 }] } },
              { secret: { name: 'none', optional: true } },
              { downwardAPI: { items: [{ path: 'ns', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
            ],
          },
        },
      ],
    });
    const paths = await volumes.setUp(pod);
    const base = path.join(rootDir, 'pods', pod.metadata.uid, 'volumes');
    const at = (name: string) => paths.get(name) ?? '';
    expect(at('disk')).toBe(path.join(base, 'kubernetes.io~empty-dir/disk'));
    expect(at('cm')).toBe(path.join(base, 'kubernetes.io~configmap/cm'));
    expect(at('host')).toBe(outside);
    expect(await modeOf(at('disk'))).toBe(0o777);
    for (const name of ['memory', 'secret', 'down', 'all']) expect((await statfs(at(name))).type).toBe(TMPFS);
    const { blocks, bsize } = await statfs(at('memory'));
    expect(blocks * bsize).toBe(1 << 20);
    expect(await modeOf(path.join(at('cm'), 'color'))).toBe(0o440);
    expect(await readFile(path.join(at('secret'), 'user'), 'utf8')).toBe('eve');
    expect(await readFile(path.join(at('down'), 'l'), 'utf8')).toBe('app="web"');
    expect(await readFile(path.join(at('all'), 'token'), 'utf8')).toBe('the-token');
    expect(await readFile(path.join(at('all'), 'sub/c'), 'utf8')).toBe('red');
    expect(await modeOf(path.join(at('all'), 'sub/c'))).toBe(0o400);

    await symlink(outside, path.join(at('disk'), 'trap'));
    expect(await volumes.podsOnDisk()).toEqual([pod.metadata.uid]);
    const said = path.join(rootDir, 'pods', pod.metadata.uid, 'containers', 'main', '0');
    await mkdir(path.dirname(said), { recursive: true });
    await writeFile(said, 'last words');
    await volumes.tearDown(pod.metadata.uid);
    await volumes.tearDown(pod.metadata.uid);
    expect(await mountsHere()).toEqual([]);
    expect(await readdir(path.join(rootDir, 'pods', pod.metadata.uid))).toEqual(['containers']);
    expect(await readFile(said, 'utf8')).toBe('last words');
    await volumes.remove(pod.metadata.uid);
    await volumes.remove(pod.metadata.uid);
    expect(await volumes.podsOnDisk()).toEqual([]);
    expect(await readdir(outside)).toEqual(['precious']);
  });

  test('set up again: contents follow the object, an emptyDir keeps its own, mounts do not pile up', async () => {
    const { client, clock, volumes, pod } = scene({
      volumes: [
        { name: 'cm', configMap: { name: 'settings' } },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
      ],
    });
    const paths = await volumes.setUp(pod);
    const kept = path.join(paths.get('memory') ?? '', 'mine');
    await writeFile(kept, 'x');
    client.put(CONFIG_MAPS, {
      metadata: { name: 'settings', namespace: 'shop' },
      data: { color: 'blue' },
    } as object);
    clock.ms = 10_000;
    await volumes.setUp(pod);
    expect(await readFile(path.join(paths.get('cm') ?? '', 'color'), 'utf8')).toBe('blue');
    expect(await readFile(kept, 'utf8')).toBe('x');
    expect(await mountsHere()).toHaveLength(1);
  });

  test("the pod's group owns what its containers share", async () => {
    const { volumes, pod } = scene({
      securityContext: { fsGroup: 4242, runAsUser: 1000 },
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'secret', secret: { secretName: 'login', defaultMode: 0o400 } },
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
      ],
    });
    const paths = await volumes.setUp(pod);
    const disk = await stat(paths.get('disk') ?? '');
    expect([disk.gid, disk.mode & 0o7777]).toEqual([4242, 0o2777]);
    const secret = await stat(path.join(paths.get('secret') ?? '', 'user'));
    expect([secret.gid, secret.mode & 0o7777]).toEqual([4242, 0o440]);
    const token = await stat(path.join(paths.get('token') ?? '', 't'));
    expect([token.uid, token.gid, token.mode & 0o7777]).toEqual([1000, 4242, 0o640]);
    const before = await readdir(paths.get('secret') ?? '');
    await volumes.setUp(pod);
    expect(await readdir(paths.get('secret') ?? '')).toEqual(before);
  });

  test('no name and no depth that a pod makes keeps it from starting or from going', async () => {
    const { client, volumes, pod } = scene({
      securityContext: { fsGroup: 4242 },
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'local', persistentVolumeClaim: { claimName: 'data' } },
      ],
    });
    const claim = { metadata: { uid: 'c1' }, spec: { volumeName: 'v' }, status: { phase: 'Bound' } };
    client.answer = (request) =>
      request.endsWith('/v') ? { spec: { claimRef: { uid: 'c1' }, local: { path: outside } } } : claim;
    const odd = (dir: string) => Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff])]);
    await writeFile(odd(outside), '', { mode: 0o600 });
    const paths = await volumes.setUp(pod);
    expect((await stat(odd(outside))).mode & 0o7777).toBe(0o660);
    await chmod(odd(outside), 0o600);
    await volumes.setUp(pod);
    expect((await stat(odd(outside))).mode & 0o7777).toBe(0o600);

    const disk = paths.get('disk') ?? '';
    await writeFile(odd(disk), '');
    const half = Array.from({ length: 750 }, () => 'deep').join('/');
    for (const name of ['a', 'b']) await mkdir(path.join(disk, name, half), { recursive: true });
    await rename(path.join(disk, 'b'), path.join(disk, 'a', half, 'b'));
    await volumes.remove(pod.metadata.uid);
    expect(await volumes.podsOnDisk()).toEqual([]);
    expect(await readdir(outside)).toHaveLength(1);
  });

  test.each<[string, NonNullable<V1PodSpec['volumes']>[number], string]>([
    ['a configMap', { name: 'x', configMap: { name: 'y' } }, 'configmap "y" not found'],
    ['a secret', { name: 'x', secret: { secretName: 'y' } }, 'secret "y" not found'],
    [
      'a key',
      { name: 'x', configMap: { name: 'settings', items: [{ key: 'k', path: 'p' }] } },
      'configmap references non-existent config key: k',
    ],
    [
      'a trust bundle',
      { name: 'x', projected: { sources: [{ clusterTrustBundle: { path: 'p' } }] } },
      'projected source clusterTrustBundle is not supported by this kubelet',
    ],
    [
      'another kind',
      { name: 'x', iscsi: { iqn: 'i', lun: 0, targetPortal: 'p' } },
      'volumes of type iscsi are not supported',
    ],
  ])('%s that cannot be had is told with the volume', async (_, volume, words) => {
    const { volumes, pod } = scene({ volumes: [volume] });
    await expect(volumes.setUp(pod)).rejects.toMatchObject({
      reason: 'FailedMount',
      message: expect.stringContaining(`MountVolume.SetUp failed for volume "x" : ${words}`),
    });
  });

  test('names that would leave the directory are refused', async () => {
    const { volumes, pod } = scene({ volumes: [{ name: '../../x', emptyDir: {} }] });
    await expect(volumes.setUp(pod)).rejects.toThrow('cannot name a directory');
    await expect(volumes.tearDown('..')).rejects.toThrow('cannot name a directory');
  });

  describeWith({ root: true, tools: ['mount', 'umount'] }, 'a subPath', () => {
    const mountsOf = async (subPath: string, prepare: (volume: string) => Promise<void> = async () => {}) => {
      const { volumes, pod } = scene({ volumes: [{ name: 'v', emptyDir: {} }] });
      const paths = await volumes.setUp(pod);
      await prepare(paths.get('v') ?? '');
      const container = { name: 'main', volumeMounts: [{ name: 'v', mountPath: '/data', subPath }] };
      const own = { rootDir, clusterDomain: 'cluster.local', canRecurse: false };
      const request = { ...own, pod, container, volumes: paths, images: new Map() };
      const ask = () =>
        containerMounts({ ...request, podIps: ['10.0.0.9'], attempt: 0, variables: async () => new Map() });
      return { mounts: await ask(), ask, volumes, pod, volume: paths.get('v') ?? '' };
    };

    test('is made, bound once, and goes with the pod', async () => {
      const { mounts, ask, volumes, pod, volume } = await mountsOf('a/b');
      const bound = mounts[0]?.hostPath ?? '';
      await writeFile(path.join(bound, 'f'), 'x');
      expect(await readFile(path.join(volume, 'a/b/f'), 'utf8')).toBe('x');
      expect((await ask())[0]?.hostPath).toBe(bound);
      expect(await mountsHere()).toEqual([bound]);
      expect(mounts.map(({ containerPath }) => containerPath)).toEqual([
        '/data',
        '/etc/hosts',
        '/dev/termination-log',
      ]);
      await volumes.tearDown(pod.metadata.uid);
      expect(await mountsHere()).toEqual([]);
    });

    test('that is made has the mode of the volume, whatever the umask, and its group', async () => {
      const before = process.umask(0o077);
      try {
        const { volume } = await mountsOf('a/b', async (dir) => {
          await chown(dir, 0, 4321);
          await chmod(dir, 0o3777);
        });
        for (const name of ['a', 'a/b']) {
          const { mode, gid } = await stat(path.join(volume, name));
          expect([mode & 0o7777, gid]).toEqual([0o3777, 4321]);
        }
      } finally {
        process.umask(before);
      }
    });

    test('may be a file, and may be reached by a link inside the volume', async () => {
      const { mounts } = await mountsOf('link', async (volume) => {
        await writeFile(path.join(volume, 'f'), 'inside');
        await symlink('f', path.join(volume, 'link'));
      });
      expect(await readFile(mounts[0]?.hostPath ?? '', 'utf8')).toBe('inside');
    });

    test.each(['trap', 'trap/deeper', 'dir/up'])(
      'through a link out of the volume (%s) is refused',
      async (sub) => {
        await writeFile(path.join(outside, 'precious'), 'keep');
        const asked = mountsOf(sub, async (volume) => {
          await symlink(outside, path.join(volume, 'trap'));
          await mkdir(path.join(volume, 'dir'));
          await symlink('../../../..', path.join(volume, 'dir/up'));
        });
        await expect(asked).rejects.toThrow(
          'failed to prepare subPath for volumeMount "v" of container "main"',
        );
        expect(await mountsHere()).toEqual([]);
        expect(await readdir(outside)).toEqual(['precious']);
      },
    );
  });
});
