// The CRI client against containerd: each call of the kubelet, on real sandboxes and containers.
// Guarantees: one private containerd for the file; every test ends the pods it runs.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ContainerEvent, ContainerState, RuntimeService } from '../../../src/cri/runtime.js';
import { openPleg } from '../../../src/kernel/pleg/adapter.js';
import { CriNode, containerOf } from '../../support/criNode.js';
import { BUSYBOX, IMAGE } from '../../support/imageArchive.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const needs = {
  root: true,
  tools: ['containerd', 'runc', 'ctr', 'nsenter', 'tar'],
  files: [BUSYBOX],
  features: ['veth', 'bridge'],
};

describeWith(needs, 'the CRI client on containerd', () => {
  let node: CriNode;
  let runtime: RuntimeService;
  beforeAll(async () => {
    node = await CriNode.start();
    runtime = node.cri.runtime;
  });
  afterEach(async (context) => {
    if (context.task.result?.state === 'fail') console.error(node.output());
    for (const { id } of await runtime.listPodSandbox()) {
      await runtime.stopPodSandbox(id);
      await runtime.removePodSandbox(id);
    }
  });
  afterAll(() => node?.stop());

  const runContainer = async (name: string, command: readonly string[]) => {
    const pod = node.pod(name);
    const sandbox = await runtime.runPodSandbox(pod);
    const id = await runtime.createContainer(sandbox, containerOf(name, command), pod);
    await runtime.startContainer(id);
    return { pod, sandbox, id };
  };
  const untilState = async (id: string, state: ContainerState) => {
    for (let tries = 0; tries < 200; tries++) {
      const status = await runtime.containerStatus(id);
      if (status.state === state) return status;
      await sleep(50);
    }
    throw new Error(`container ${id} did not become ${state}`);
  };

  test('the runtime names itself and says that it is ready', async () => {
    expect(await runtime.version()).toMatchObject({ runtimeName: 'containerd', runtimeApiVersion: 'v1' });
    const { conditions } = await runtime.status();
    // Newer ones say more of themselves; these two are CRI's own.
    const required = conditions.filter(({ type }) => ['RuntimeReady', 'NetworkReady'].includes(type));
    expect(required.map(({ type, status }) => [type, status])).toEqual([
      ['RuntimeReady', true],
      ['NetworkReady', true],
    ]);
  });

  test('a sandbox has an address, is listed by its labels, stops, and is gone', async () => {
    const before = BigInt(Date.now()) * 1_000_000n;
    const id = await runtime.runPodSandbox(node.pod('web'));
    const status = await runtime.podSandboxStatus(id);
    expect(status).toMatchObject({
      id,
      metadata: { name: 'web', uid: 'web-uid', namespace: 'default', attempt: 0 },
      state: 'SANDBOX_READY',
      linux: { namespaces: { options: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } } },
    });
    expect(status.network?.ip).toMatch(/^10\.77\.0\.\d+$/);
    expect(status.createdAt).toBeGreaterThanOrEqual(before);
    expect(await runtime.listPodSandbox({ labels: { app: 'web' } })).toHaveLength(1);
    expect(await runtime.listPodSandbox({ labels: { app: 'other' } })).toEqual([]);
    await runtime.stopPodSandbox(id);
    expect((await runtime.listPodSandbox({ id }))[0]?.state).toBe('SANDBOX_NOTREADY');
    await runtime.removePodSandbox(id);
    expect(await runtime.listPodSandbox()).toEqual([]);
    await runtime.stopPodSandbox(id);
    await runtime.removePodSandbox(id);
  });

  test('a container runs, runs commands, is stopped and removed', async () => {
    const { sandbox, id } = await runContainer('web', ['/bin/sleep', '1000']);
    const listed = await runtime.listContainers({ podSandboxId: sandbox });
    expect(listed).toMatchObject([{ id, podSandboxId: sandbox, state: 'CONTAINER_RUNNING' }]);
    expect(listed[0]?.image.image).not.toBe('');
    const echoed = await runtime.execSync(id, ['/bin/sh', '-c', 'echo $GREETING; echo no >&2; exit 3'], 10);
    expect([String(echoed.stdout), String(echoed.stderr), echoed.exitCode]).toEqual(['hello\n', 'no\n', 3]);
    const exec = { containerId: id, cmd: ['sh'], tty: true, stdin: true, stdout: true, stderr: false };
    expect(await runtime.exec(exec)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/exec\//);
    expect(await runtime.attach(exec)).toMatch(/\/attach\//);
    expect(await runtime.portForward(sandbox, [80])).toMatch(/\/portforward\//);
    await runtime.stopContainer(id, 0);
    const status = await runtime.containerStatus(id);
    expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 137, reason: 'Error' });
    expect(status.finishedAt).toBeGreaterThan(status.startedAt);
    await runtime.removeContainer(id);
    expect(await runtime.listContainers()).toEqual([]);
    await runtime.stopContainer(id, 0);
    await runtime.removeContainer(id);
  });

  test('what a container writes is in its log, and its exit code in its status', async () => {
    const { pod, id } = await runContainer('once', ['/bin/sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(await untilState(id, 'CONTAINER_EXITED')).toMatchObject({ exitCode: 7, reason: 'Error' });
    const log = readFileSync(path.join(pod.logDirectory, 'once.log'), 'utf8');
    expect(log).toMatch(/^\S+ stdout F out$/m);
    expect(log).toMatch(/^\S+ stderr F err$/m);
  });

  test('lists come as bytes, which the native generator turns into events', async () => {
    const pleg = openPleg();
    const relist = async () => {
      const sandboxes = await runtime.listPodSandboxBytes();
      const { changed, commit } = await pleg.relist(sandboxes, await runtime.listContainersBytes());
      commit();
      return changed;
    };
    expect(await relist()).toEqual([]);
    const { sandbox, id } = await runContainer('bytes', ['/bin/sleep', '1000']);
    const started = [sandbox, id].sort().map((one) => ({ type: 'ContainerStarted', id: one }));
    expect(await relist()).toEqual([{ podUid: 'bytes-uid', events: started }]);
    await runtime.stopContainer(id, 0);
    expect(await relist()).toEqual([{ podUid: 'bytes-uid', events: [{ type: 'ContainerDied', id }] }]);
    await runtime.removeContainer(id);
    expect(await relist()).toEqual([{ podUid: 'bytes-uid', events: [{ type: 'ContainerRemoved', id }] }]);
    expect(pleg.pods()).toEqual(['bytes-uid']);
  });

  test('what happens to a container is told, by whatever events the runtime has', async () => {
    const heard: ContainerEvent[] = [];
    const typesOf = (id: string) =>
      heard.filter(({ containerId }) => containerId === id).map(({ type }) => type);
    const ending = new AbortController();
    const events = runtime.containerEvents((event) => heard.push(event), ending.signal);
    let tries = 0;
    const other = await until(async () => {
      const { id } = await runContainer(`other-${tries++}`, ['/bin/sleep', '1000']);
      expect(heard).not.toEqual([]); // the stream is open
      return id;
    });
    const { sandbox, id } = await runContainer('told', ['/bin/sleep', '1000']);
    await runtime.stopContainer(id, 0);
    await runtime.removeContainer(id);
    await until(() => expect(typesOf(id)).toContain('CONTAINER_DELETED_EVENT'));
    ending.abort();
    await events;
    const story = ['CREATED', 'STARTED', 'STOPPED', 'DELETED'].map((word) => `CONTAINER_${word}_EVENT`);
    expect(typesOf(id)).toEqual(story);
    expect(typesOf(sandbox)).toContain('CONTAINER_STARTED_EVENT');
    expect(typesOf(other)).not.toContain('CONTAINER_STOPPED_EVENT');
  });

  test('images are listed and found; one that is not there is undefined', async () => {
    const [image] = (await node.cri.images.listImages()).filter(({ repoTags }) => repoTags.includes(IMAGE));
    expect(image?.size).toBeGreaterThan(1_000_000);
    expect(await node.cri.images.imageStatus(IMAGE)).toMatchObject({ id: image?.id });
    expect(await node.cri.images.imageStatus('localhost/none:none')).toBeUndefined();
    await node.cri.images.removeImage('localhost/none:none');
    expect(await node.cri.images.imageFsInfo()).toHaveLength(1);
  });

  test('a refused call names the call, the code and the runtime’s words', async () => {
    await expect(runtime.containerStatus('none')).rejects.toMatchObject({
      name: 'CriError',
      call: 'ContainerStatus',
      code: 'NOT_FOUND',
      message: expect.stringMatching(/^rpc error: code = NotFound desc = .*"none"/),
    });
    const pod = node.pod('broken');
    const sandbox = await runtime.runPodSandbox(pod);
    const id = await runtime.createContainer(sandbox, containerOf('broken', ['/bin/none']), pod);
    await expect(runtime.startContainer(id)).rejects.toMatchObject({
      call: 'StartContainer',
      message: expect.stringContaining('no such file or directory'),
    });
  });

  test('after containerd was killed and started again the same client goes on, and its pods still run', async () => {
    const { id } = await runContainer('survivor', ['/bin/sleep', '1000']);
    await node.restart();
    expect(await runtime.containerStatus(id)).toMatchObject({ state: 'CONTAINER_RUNNING' });
  });
});
