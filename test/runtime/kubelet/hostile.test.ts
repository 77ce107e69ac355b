// Pods, registries and runtimes that mean harm or fail: each is told in events and conditions, and the node stays Ready.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SECRETS } from '../../../src/api/resources.js';
import { ApiNode, SLEEP, shell } from '../../support/kubelet/apiNode.js';
import { describeWith } from '../../support/requires.js';
import { eventually } from '../../support/testCluster.js';

/** A registry that lets `eve` in by her password, and has no image at all. */
const REGISTRY = `
require('node:http').createServer((request, response) => {
  const known = request.headers.authorization === 'Basic ' + Buffer.from('eve:secret').toString('base64');
  if (!known) return response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' }] }));
}).listen(5000, '127.0.0.1');
`;

const needs = { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox'] };
describeWith(needs, 'a kubelet among enemies', () => {
  let node: ApiNode;

  beforeAll(async () => {
    node = await ApiNode.start({ podPidsLimit: 30 });
    node.node.node.startDaemon(process.execPath, '-e', REGISTRY);
    await eventually(
      () => node.readiness(),
      (is) => is === 'True',
    );
  });
  afterEach(async () => {
    node.proxy.release();
    expect(await node.readiness()).toBe('True');
  });
  afterAll(() => node?.stop());

  test('calls that hang in the runtime hold up their own pods, and no other', async () => {
    for (const name of ['mute', 'sticky']) await node.create(name, { containers: [shell(SLEEP)] });
    const [mute] = await Promise.all(['mute', 'sticky'].map(node.running));
    const muteId = mute?.status.containerStatuses?.[0]?.containerID?.split('://')[1] ?? '?';
    node.proxy.hold(
      (method, request) =>
        (method === 'RunPodSandbox' && request.includes('hung')) ||
        (method === 'ContainerStatus' && request.includes(muteId)) ||
        method === 'StopContainer',
    );
    const deleted = node.remove('sticky');
    await node.create('hung', { containers: [shell(SLEEP)] });
    // The mute one changes, so that the kubelet asks for it.
    await node.node.node.run(
      'sh',
      '-c',
      `ctr -a ${node.node.node.directory}/containerd.sock -n k8s.io tasks kill -s KILL ${muteId}`,
    );
    await eventually(
      async () => node.proxy.waiting,
      (count) => count >= 3,
    );
    await node.create('neighbour', { containers: [shell(SLEEP)] });
    await node.running('neighbour');
    await node.create('short', { restartPolicy: 'Never', containers: [shell('exit 3')] });
    expect((await node.ended('short')).status.phase).toBe('Failed');
    expect((await node.get('hung'))?.status.phase).toBe('Pending');
    expect(await node.get('sticky')).toBeDefined();
    expect(await node.readiness()).toBe('True');
    node.proxy.release();
    await deleted;
    await node.running('hung');
    await node.until('restarted', 'mute', ({ status }) => status.containerStatuses?.[0]?.restartCount === 1);
    await node.remove('hung', 'mute', 'neighbour', 'short');
  });

  test('a registry that refuses, one that has no such image, and a name that is none', async () => {
    const image = '127.0.0.1:5000/private/thing:1';
    await node.client.of(SECRETS).create({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/dockerconfigjson',
      metadata: { name: 'login', namespace: 'default' },
      data: {
        '.dockerconfigjson': Buffer.from(
          JSON.stringify({ auths: { '127.0.0.1:5000': { username: 'eve', password: 'secret' } } }),
        ).toString('base64'),
      },
    });
    const pulling = (name: string) => ({
      containers: [shell(SLEEP, { image: name, imagePullPolicy: 'Always' })],
    });
    await node.create('stranger', pulling(image));
    await node.create('eve', { ...pulling(image), imagePullSecrets: [{ name: 'login' }] });
    await node.create('nonsense', pulling('UPPER/case:1'));
    const refused = await node.event('stranger', ({ message = '' }) =>
      message.startsWith('Failed to pull image'),
    );
    expect(refused.message).toMatch(/401|unauthorized|authorization failed/i);
    const missing = await node.event('eve', ({ message = '' }) => message.startsWith('Failed to pull image'));
    expect(missing.message).toMatch(/not found/);
    for (const name of ['stranger', 'eve']) await node.waiting(name, /^(ErrImagePull|ImagePullBackOff)$/);
    await node.waiting('nonsense', /^(InvalidImageName|ErrImagePull|ImagePullBackOff|ImageInspectError)$/);
    await node.remove('stranger', 'eve', 'nonsense');
  });

  test('a manifest whose names or paths lead out of their place is refused by its field', async () => {
    const { directory } = node.node.node;
    const write = (name: string, pod: object) =>
      writeFileSync(
        path.join(node.manifests, `${name}.json`),
        JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod }),
      );
    const volumes = [{ name: 'data', emptyDir: {} }];
    const mounted = (subPath: string) => [
      shell('> /data/planted', { volumeMounts: [{ name: 'data', mountPath: '/data', subPath }] }),
    ];
    write('climbs', {
      metadata: { name: 'climbs' },
      spec: { volumes, containers: mounted('../../../../out') },
    });
    write('absolute', { metadata: { name: 'absolute' }, spec: { volumes, containers: mounted('/out') } });
    write('volume', {
      metadata: { name: 'volume' },
      spec: { volumes: [{ name: '../out', emptyDir: {} }], containers: [shell(SLEEP)] },
    });
    write('container', {
      metadata: { name: 'container' },
      spec: { containers: [shell(SLEEP, { name: '../out' })] },
    });
    write('space', {
      metadata: { name: 'space', namespace: '../out' },
      spec: { containers: [shell(SLEEP)] },
    });
    // Its own uid is not taken: the kubelet makes one.
    write('uid', { metadata: { name: 'uid', uid: '../../out' }, spec: { containers: [shell(SLEEP)] } });
    const names = ['climbs', 'absolute', 'volume', 'container', 'space'];
    for (const name of names)
      await eventually(
        async () => node.said(),
        (said) => said.includes(`${name}.json: `),
      );
    for (const field of ['subPath', 'spec.volumes[0].name', 'spec.containers[0].name', 'metadata.namespace'])
      expect(node.said()).toContain(field);
    await node.running('uid-node-1');
    for (const name of [...names, 'uid']) rmSync(path.join(node.manifests, `${name}.json`));
    expect(existsSync(path.join(directory, 'out'))).toBe(false);
    expect(existsSync(path.join(directory, 'kubelet', 'out'))).toBe(false);
  });

  test('what this node cannot enforce or mount is refused in words, and nothing runs without it', async () => {
    const mounted = (more: object) => [
      shell(SLEEP, { volumeMounts: [{ name: 'data', mountPath: '/data', ...more }] }),
    ];
    const profiled = { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } };
    const hasAppArmor = existsSync('/sys/module/apparmor/parameters/enabled');
    await node.create('profiled', { containers: [shell(SLEEP, profiled)] });
    if (hasAppArmor) await node.running('profiled');
    else
      expect((await node.ended('profiled')).status).toMatchObject({
        reason: 'AppArmor',
        message: 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host',
      });
    await node.create('remote', {
      volumes: [{ name: 'data', nfs: { server: '127.0.0.1', path: '/none' } }],
      containers: mounted({}),
    });
    // Without its tool, or with it and without a server.
    const mount = await node.event('remote', ({ reason }) => reason === 'FailedMount');
    expect(mount.message).toMatch(
      /^MountVolume.SetUp failed for volume "data" : .*(mount\.nfs|mount failed)/,
    );
    await node.remove('profiled', 'remote');
  });

  test('links that a container plants lead the kubelet nowhere', async () => {
    const { directory } = node.node.node;
    const precious = path.join(directory, 'precious');
    writeFileSync(precious, 'precious');
    await node.create('links', {
      restartPolicy: 'Never',
      securityContext: { fsGroup: 2000 },
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        shell(`ln -s ${precious} /data/file; ln -s ${directory} /data/dir; ln -s / /data/root; exit 0`, {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
          // Where the last words are read from lies in the volume, and is a link as well.
          terminationMessagePath: '/data/file',
        }),
      ],
    });
    await node.ended('links');
    await node.remove('links');
    expect(existsSync(precious)).toBe(true);
  });

  test('a bomb of processes and one of memory hit their own limits', async () => {
    await node.create('forks', { containers: [shell('while true; do sleep 1000 & done')] });
    await node.create('hog', {
      restartPolicy: 'Never',
      containers: [shell('x=x; while true; do x=$x$x; done', { resources: { limits: { memory: '32Mi' } } })],
    });
    const [container] = (await node.ended('hog')).status.containerStatuses ?? [];
    expect(container?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    await node.create('beside', { containers: [shell(SLEEP)] });
    await node.running('beside');
    await node.remove('forks', 'hog', 'beside');
  });

  test('who ignores TERM is killed when the grace period is over, and a volume in memory cannot outgrow its limit', async () => {
    await node.create('deaf', {
      volumes: [{ name: 'small', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
      containers: [
        shell(
          "trap '' TERM; busybox dd if=/dev/zero of=/small/fill bs=64k count=64; echo full > /dev/termination-log; while true; do sleep 1; done",
          { volumeMounts: [{ name: 'small', mountPath: '/small' }] },
        ),
      ],
    });
    await node.running('deaf');
    await node.remove('deaf');
  });
});
