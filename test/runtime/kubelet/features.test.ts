// What depends on the runtime, from a pod's field to what its processes find: used where the runtime has it, refused in
// words where it has not. Guarantees: the end of the run names what was seen of each.
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Container, V1PodSpec } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import type { CriError } from '../../../src/cri/error.js';
import type { RuntimeStatus } from '../../../src/cri/runtime.js';
import { runtimeProblem } from '../../../src/kubelet/node/nodeStatus.js';
import { RuntimeState } from '../../../src/kubelet/runtimeState.js';
import { checkpoint } from '../../../src/kubelet/server/checkpoint.js';
import { imageVolumeProblem } from '../../../src/kubelet/volumes/imageVolume.js';
import { CriNode } from '../../support/criNode.js';
import { BUSYBOX, IMAGE, MEMBER } from '../../support/imageArchive.js';
import { ApiNode, SLEEP, shell } from '../../support/kubelet/apiNode.js';
import { describeWith } from '../../support/requires.js';

const needs = { root: true, tools: ['containerd', 'runc', 'ctr', 'nsenter'], files: [BUSYBOX] };
/** The runtime's own events alone can tell of a change: no relist comes within the test. */
const NEVER_MS = 3_600_000;

describeWith(needs, 'what depends on the runtime', () => {
  let node: ApiNode;
  let status: RuntimeStatus;
  let runtimeText = '';
  const seen: string[] = [];
  const note = (what: string, isThere: boolean) => {
    seen.push(`${what}: ${isThere ? 'used' : 'not there'}`);
    return isThere;
  };

  beforeAll(async () => {
    node = await ApiNode.start();
    const { runtime } = node.node.cri;
    status = await runtime.status();
    const { runtimeName, runtimeVersion } = await runtime.version();
    runtimeText = `${runtimeName} ${runtimeVersion}`;
  });
  afterAll(async () => {
    console.info(`On ${runtimeText}: ${seen.join(', ')}`);
    await node?.stop();
  });

  const handler = () => status.handlers.find(({ name }) => name === '')?.features;
  const at = (name: string) => path.join(node.node.node.directory, name);
  const mounting = (script: string, ...mounts: NonNullable<V1Container['volumeMounts']>) => [
    shell(script, { volumeMounts: mounts }),
  ];

  test('users of its own: root inside is nobody outside, and its files are root’s wherever they lie', async () => {
    const spec = (): Partial<V1PodSpec> => ({
      hostUsers: false,
      securityContext: { fsGroup: 2000 },
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: mounting(`echo > /data/made; ${SLEEP}`, { name: 'data', mountPath: '/data' }),
    });
    await node.create('mapped', spec());
    if (!note('user namespaces', handler()?.userNamespaces === true)) {
      const event = await node.event('mapped', ({ reason }) => reason === 'FailedCreatePodSandBox');
      expect(event.message).toContain(
        "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      );
      await node.remove('mapped');
      return;
    }
    await node.create('other', spec());
    const ranges: number[] = [];
    for (const name of ['mapped', 'other']) {
      const { metadata } = await node.running(name);
      const [, inside, outside, length] =
        /^\s*(\d+)\s+(\d+)\s+(\d+)$/.exec(await node.inside(name, 'cat /proc/self/uid_map')) ?? [];
      expect([inside, length]).toEqual(['0', '65536']);
      ranges.push(Number(outside));
      expect(await node.inside(name, 'busybox stat -c %u:%g /data/made')).toBe('0:2000');
      const file = statSync(at(`kubelet/pods/${metadata.uid}/volumes/kubernetes.io~empty-dir/data/made`));
      expect([file.uid, file.gid]).toEqual([0, 2000]);
    }
    expect(ranges.every((first) => first >= 65_536)).toBe(true);
    expect(new Set(ranges).size).toBe(2);
    await node.remove('mapped', 'other');
  });

  test('read-only to the ground: what is mounted below a volume cannot be written either', async () => {
    const below = at('host/below');
    mkdirSync(below, { recursive: true });
    await node.node.node.run('mount', '-t', 'tmpfs', 'below', below);
    const spec = (recursiveReadOnly: string): Partial<V1PodSpec> => ({
      volumes: [{ name: 'data', hostPath: { path: at('host') } }],
      containers: mounting(SLEEP, { name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly }),
    });
    const write = 'echo > /data/above 2> /dev/null && echo above; echo > /data/below/file && echo below';
    await node.create('shallow', spec('Disabled'));
    await node.running('shallow');
    expect(await node.inside('shallow', write)).toBe('below');
    await node.create('possible', spec('IfPossible'));
    await node.create('recursive', spec('Enabled'));
    await node.running('possible');
    const isThere = note('recursive read-only mounts', handler()?.recursiveReadOnlyMounts === true);
    expect(await node.inside('possible', `${write}; true`)).toBe(isThere ? '' : 'below');
    if (isThere) {
      const { status: told } = await node.running('recursive');
      expect(await node.inside('recursive', `${write}; true`)).toBe('');
      expect(told.containerStatuses?.[0]?.volumeMounts?.[0]).toMatchObject({ recursiveReadOnly: 'Enabled' });
    } else
      expect((await node.waiting('recursive', /^CreateContainerConfigError$/)).message).toContain(
        'failed to resolve recursive read-only mode',
      );
    await node.remove('shallow', 'possible', 'recursive');
    await node.node.node.run('umount', below);
  });

  test('groups: those of the image’s own file are left out when the pod says so', async () => {
    const spec = (supplementalGroupsPolicy: string): Partial<V1PodSpec> => ({
      securityContext: { runAsUser: MEMBER.uid, supplementalGroups: [60_000], supplementalGroupsPolicy },
      containers: [shell(SLEEP)],
    });
    await node.create('merged', spec('Merge'));
    await node.create('strict', spec('Strict'));
    await node.running('merged');
    expect(await node.inside('merged', 'busybox id -G')).toBe(`${MEMBER.uid} ${MEMBER.group} 60000`);
    if (note('strict groups', status.features?.supplementalGroupsPolicy === true)) {
      const { status: told } = await node.running('strict');
      expect(await node.inside('strict', 'busybox id -G')).toBe(`${MEMBER.uid} 60000`);
      expect(told.containerStatuses?.[0]?.user?.linux).toEqual({
        uid: MEMBER.uid,
        gid: MEMBER.uid,
        supplementalGroups: [MEMBER.uid, 60_000],
      });
    } else expect((await node.ended('strict')).status.reason).toBe('SupplementalGroupsPolicyNotSupported');
    await node.remove('merged', 'strict');
  });

  test('an image as a volume', async () => {
    const canRecurse = handler()?.recursiveReadOnlyMounts === true;
    const recursive = canRecurse ? { readOnly: true, recursiveReadOnly: 'Enabled' } : {};
    const volume = { name: 'data', image: { reference: IMAGE, pullPolicy: 'IfNotPresent' } };
    await node.create('image', {
      volumes: [volume],
      containers: mounting(SLEEP, { name: 'data', mountPath: '/data', ...recursive }),
    });
    await node.create('part', {
      volumes: [volume],
      containers: mounting(SLEEP, { name: 'data', mountPath: '/data', subPath: 'etc' }),
    });
    const [runtimeName = '', runtimeVersion = ''] = runtimeText.split(' ');
    if (note('image volumes', imageVolumeProblem({ runtimeName, runtimeVersion }) === undefined)) {
      const { status: told } = await node.running('image');
      expect(told.containerStatuses?.[0]?.volumeMounts).toMatchObject([recursive]);
      expect(await node.inside('image', '/data/bin/busybox cat /data/etc/group')).toContain('crew:x:50');
      await expect(node.inside('image', 'echo > /data/new')).rejects.toThrow(/Read-only file system/);
    } else
      expect((await node.waiting('image', /^CreateContainerConfigError$/)).message).toBe(
        `cannot mount image volume "data": ${runtimeText} does not support image volumes; 2.1 or newer does`,
      );
    if (
      note(
        'parts of image volumes',
        imageVolumeProblem({ runtimeName, runtimeVersion }, 'part') === undefined,
      )
    ) {
      await node.running('part');
      expect(await node.inside('part', 'cat /data/group')).toContain('crew:x:50');
    } else
      expect((await node.waiting('part', /^CreateContainerConfigError$/)).message).toMatch(
        /does not support a subPath of image volumes; 2.2 or newer does$/,
      );
    await node.remove('image', 'part');
  });

  test('a signal to stop by is handed to the runtime, which stops by it where it knows it', async () => {
    const asked: Buffer[] = [];
    node.proxy.hold((method, request) => {
      if (method === 'CreateContainer') asked.push(Buffer.from(request));
      return false;
    });
    await node.create('signalled', {
      os: { name: 'linux' },
      containers: [
        shell("trap 'exit 7' USR1; trap 'exit 8' TERM; echo > /ready; while true; do sleep 0.1; done", {
          lifecycle: { stopSignal: 'SIGUSR1' },
        }),
      ],
    });
    const id =
      (await node.running('signalled')).status.containerStatuses?.[0]?.containerID?.split('://')[1] ?? '';
    await node.inside('signalled', 'while [ ! -e /ready ]; do sleep 0.1; done');
    // Field 18 of ContainerConfig, member 29 of Signal.
    expect(asked.some((request) => request.includes(Buffer.from([0x90, 0x01, 29])))).toBe(true);
    const { stopSignal = 'RUNTIME_DEFAULT' } = await node.node.cri.runtime.containerStatus(id);
    await node.node.cri.runtime.stopContainer(id, 20);
    const { exitCode } = await node.node.cri.runtime.containerStatus(id);
    expect(exitCode).toBe(note('stop signals', stopSignal === 'SIGUSR1') ? 7 : 8);
    await node.remove('signalled');
  });

  test('a checkpoint of a container, which runs on', async () => {
    await node.create('frozen', { containers: [shell(SLEEP)] });
    const pod = await node.running('frozen');
    const { runtime } = node.node.cri;
    const pods = { list: () => [pod], get: () => pod };
    const wanted = { namespace: 'default', pod: 'frozen', container: 'main', timeouts: ['60'], nowMs: 0 };
    const made = await checkpoint({ runtime, pods, directory: at('checkpoints') }, wanted).catch(
      (error: Error) => error,
    );
    if (note('checkpoints', !(made instanceof Error))) {
      const archive = at('checkpoints/checkpoint-frozen_default-main-1970-01-01T00:00:00Z.tar');
      expect(made).toEqual({ items: [archive] });
      expect(await node.node.node.run('tar', '-tf', archive)).toMatch(/^checkpoint\/core-\d+\.img$/m);
    } else
      expect(String(made)).toMatch(
        /checkpointing of default\/frozen\/main failed \(.*(Unimplemented|criu|CRIU).*\)/,
      );
    await expect(node.inside('frozen', 'echo awake')).resolves.toBe('awake');
    expect((await node.get('frozen'))?.status.containerStatuses?.[0]?.restartCount).toBe(0);
    await node.remove('frozen');
  });

  test('the driver of control groups: its own is well, and systemd’s makes the node NotReady in words', async () => {
    const driver = await node.node.cri.runtime.runtimeConfig().catch((error: CriError) => error.code);
    const isTold = note('driver of control groups', driver !== 'UNIMPLEMENTED');
    expect(driver).toEqual(isTold ? { cgroupDriver: 'CGROUPFS' } : 'UNIMPLEMENTED');
    await expect.poll(() => node.readiness()).toBe('True');
    const edit = (text: string) => text.replace('SystemdCgroup = false', 'SystemdCgroup = true');
    const foreign = await CriNode.start({ edit });
    const state = new RuntimeState(foreign.cri, silentLog, () => {});
    try {
      await state.start();
      const problem = runtimeProblem(state.facts());
      if (isTold) expect(problem).toContain('it leaves control groups to systemd');
      else expect(problem).toBeUndefined();
    } finally {
      state.stop();
      await foreign.stop();
    }
  });

  test('the runtime’s own events tell all that happens to a pod, with no relist', async () => {
    const quiet = await ApiNode.start({ plegRelistPeriodMs: NEVER_MS });
    try {
      await quiet.create('first', { containers: [shell(SLEEP)] });
      await quiet.running('first');
      await quiet.create('ends', { restartPolicy: 'Never', containers: [shell('sleep 3; exit 3')] });
      await quiet.create('again', { containers: [shell('sleep 3; exit 4')] });
      expect((await quiet.ended('ends')).status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
      await quiet.until(
        'restarted',
        'again',
        (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
      );
      const [sandbox] = await quiet.node.cri.runtime.listPodSandbox({
        labels: { 'io.kubernetes.pod.name': 'first' },
      });
      await quiet.node.ctr('task', 'kill', '--signal', 'KILL', sandbox?.id ?? '');
      const revived = await quiet.until('made anew', 'first', ({ status: { containerStatuses = [] } }) =>
        containerStatuses.some(({ restartCount, state }) => restartCount > 0 && state?.running !== undefined),
      );
      expect(revived.status.podIP).not.toBe('');
      await quiet.remove('first', 'ends', 'again');
    } finally {
      await quiet.stop();
    }
  });
});
