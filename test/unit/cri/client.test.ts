// The CRI client against a runtime of the test's own making: what the wire carries, deadlines, refusals.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openRuntime } from '../../../src/cri/client.js';
import { CriError } from '../../../src/cri/error.js';
import type { ContainerEvent } from '../../../src/cri/runtime.js';

const proto = loadSync(
  ['cri', 'containerd'].map((name) => path.resolve(`src/cri/proto/${name}.proto`)),
  { longs: String, defaults: true },
);
type Answer = (request: Record<string, unknown>) => object;

let directory: string;
const servers: Server[] = [];
const runtimes: { close(): void }[] = [];
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'trellis-cri-'));
});
afterEach(() => {
  for (const runtime of runtimes.splice(0)) runtime.close();
  for (const server of servers.splice(0)) server.forceShutdown();
  rmSync(directory, { recursive: true });
});

const open = () => {
  const runtime = openRuntime(`unix://${path.join(directory, 'cri.sock')}`);
  runtimes.push(runtime);
  return runtime;
};

/** A runtime that gives these answers; one that throws refuses the call with what it threw. */
async function serve(
  service: 'RuntimeService' | 'ImageService',
  answers: Record<string, Answer>,
  more: (server: Server) => void = () => {},
) {
  const server = new Server();
  const handlers: UntypedServiceImplementation = Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (call: ServerUnaryCall<Record<string, unknown>, object>, done: sendUnaryData<object>) => {
        try {
          done(null, answer(call.request));
        } catch (error) {
          done(error as Error);
        }
      },
    ]),
  );
  server.addService(proto[`runtime.v1.${service}`] as ServiceDefinition, handlers);
  more(server);
  servers.push(server);
  await listen(server);
  return server;
}

function listen(server: Server): Promise<void> {
  const address = `unix://${path.join(directory, 'cri.sock')}`;
  return new Promise((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
}

const refuse = (code: status, details: string) => () => {
  throw Object.assign(new Error(details), { code, details });
};

describe('the CRI client', () => {
  test.each(['/run/containerd.sock', 'tcp://127.0.0.1:1', 'unix:relative', ''])(
    'refuses the endpoint %j',
    (endpoint) => {
      expect(() => openRuntime(endpoint)).toThrow(CriError);
    },
  );

  test('says that a runtime is not there', async () => {
    await expect(open().runtime.version()).rejects.toMatchObject({
      name: 'CriError',
      call: 'Version',
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/^rpc error: code = Unavailable desc = /),
    });
  });

  test('finds a runtime that comes later, and one that came back', async () => {
    const { runtime } = open();
    await expect(runtime.version()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const version = { Version: () => ({ runtimeName: 'test' }) };
    const soon = async () => {
      for (;;) {
        try {
          return await runtime.version();
        } catch (error) {
          if ((error as CriError).code !== 'UNAVAILABLE') throw error;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const first = await serve('RuntimeService', version);
    expect(await soon()).toMatchObject({ runtimeName: 'test' });
    first.forceShutdown();
    await serve('RuntimeService', version);
    expect(await soon()).toMatchObject({ runtimeName: 'test' });
  });

  test('keeps nanoseconds exact and leaves out what the runtime left out', async () => {
    const status = { id: 's', state: 'SANDBOX_NOTREADY', createdAt: '1763280000123456789' };
    await serve('RuntimeService', { PodSandboxStatus: () => ({ status }) });
    const read = await open().runtime.podSandboxStatus('s');
    expect(read.createdAt).toBe(1_763_280_000_123_456_789n);
    expect(read).not.toHaveProperty('network');
    expect(read).not.toHaveProperty('linux');
    expect(read).toMatchObject({ state: 'SANDBOX_NOTREADY', labels: {}, metadata: { uid: '' } });
  });

  test('a runtime that answers without a status is refused', async () => {
    await serve('RuntimeService', { ContainerStatus: () => ({}) });
    await expect(open().runtime.containerStatus('c')).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  test('stopping and removing what is gone is success; any other refusal is not', async () => {
    const gone = refuse(status.NOT_FOUND, 'no such thing');
    await serve('RuntimeService', {
      StopContainer: gone,
      RemoveContainer: gone,
      StopPodSandbox: gone,
      RemovePodSandbox: refuse(status.FAILED_PRECONDITION, 'it runs'),
    });
    const { runtime } = open();
    await runtime.stopContainer('c', 1);
    await runtime.removeContainer('c');
    await runtime.stopPodSandbox('s');
    await expect(runtime.removePodSandbox('s')).rejects.toMatchObject({
      call: 'RemovePodSandbox',
      code: 'FAILED_PRECONDITION',
      message: 'rpc error: code = FailedPrecondition desc = it runs',
    });
  });

  test('filters and requests arrive as they were meant', async () => {
    const seen: Record<string, unknown>[] = [];
    const note = (answer: object) => (request: Record<string, unknown>) => {
      seen.push(request);
      return answer;
    };
    await serve('RuntimeService', {
      ListContainers: note({ containers: [] }),
      ExecSync: note({ stdout: Buffer.from([0, 255]), exitCode: -1 }),
    });
    const { runtime } = open();
    await runtime.listContainers({ podSandboxId: 's', labels: { a: 'b' } });
    expect(seen[0]).toMatchObject({ filter: { podSandboxId: 's', labelSelector: { a: 'b' } } });
    const { stdout, exitCode } = await runtime.execSync('c', ['true'], 0);
    expect([[...stdout], exitCode]).toEqual([[0, 255], -1]);
    expect(seen[1]).toMatchObject({ containerId: 'c', cmd: ['true'], timeout: '0' });
  });

  test('labels of SELinux stand where CRI has them', async () => {
    const seen: Record<string, unknown>[] = [];
    await serve('RuntimeService', {
      RunPodSandbox: (request) => {
        seen.push(request);
        return { podSandboxId: 's' };
      },
    });
    const config = {
      metadata: { name: 'a', uid: 'u', namespace: 'n', attempt: 0 },
      hostname: 'a',
      logDirectory: '',
      labels: {},
      annotations: {},
      linux: {
        cgroupParent: '',
        sysctls: {},
        securityContext: {
          namespaceOptions: { network: 'POD', pid: 'POD', ipc: 'POD' },
          selinuxOptions: { level: 's0:c1' },
        },
      },
    } as const;
    await open().runtime.runPodSandbox(config);
    expect(seen[0]).toMatchObject({
      config: { linux: { securityContext: { selinuxOptions: { level: 's0:c1', user: '' } } } },
    });
  });

  test('sizes of images are numbers and a user that is not set is left out', async () => {
    const image = { id: 'i', repoTags: ['a:b'], size: '5000000000', uid: { value: '7' } };
    await serve('ImageService', {
      ListImages: () => ({ images: [image, { id: 'j' }] }),
      ImageStatus: () => ({}),
      ImageFsInfo: () => ({ imageFilesystems: [{ fsId: { mountpoint: '/m' }, usedBytes: { value: '9' } }] }),
    });
    const { images } = open();
    const [first, second] = await images.listImages();
    expect(first).toMatchObject({ size: 5_000_000_000, uid: { value: 7 } });
    expect(second).not.toHaveProperty('uid');
    expect(await images.imageStatus('none')).toBeUndefined();
    expect(await images.imageFsInfo()).toEqual([{ mountpoint: '/m', usedBytes: 9, inodesUsed: 0 }]);
  });

  test('events of containers are told until the runtime or the caller ends them', async () => {
    const server = new Server();
    const event = (id: string, containerEventType: string, uid?: string) => ({
      containerId: id,
      containerEventType,
      podSandboxStatus: uid === undefined ? undefined : { metadata: { uid } },
    });
    let cancelled = false;
    server.addService(proto['runtime.v1.RuntimeService'] as ServiceDefinition, {
      GetContainerEvents: (call: ServerWritableStream<object, object>) => {
        call.on('cancelled', () => {
          cancelled = true;
        });
        call.write(event('c', 'CONTAINER_STARTED_EVENT', 'u'));
        call.write(event('d', 'CONTAINER_STOPPED_EVENT'));
        call.write(event('e', 'CONTAINER_DELETED_EVENT', 'v'));
      },
    });
    servers.push(server);
    await listen(server);
    const heard: ContainerEvent[] = [];
    const ending = new AbortController();
    const { runtime } = open();
    await runtime.containerEvents((one) => {
      heard.push(one);
      if (heard.length === 2) ending.abort();
    }, ending.signal);
    expect(heard).toEqual([
      { containerId: 'c', type: 'CONTAINER_STARTED_EVENT', podUid: 'u' },
      { containerId: 'e', type: 'CONTAINER_DELETED_EVENT', podUid: 'v' },
    ]);
    await vi.waitFor(() => expect(cancelled).toBe(true), 30_000);
    const broken = runtime.containerEvents(() => server.forceShutdown(), new AbortController().signal);
    await expect(broken).rejects.toBeInstanceOf(CriError);
  });

  test('every call of CRI v1 is there, and a list in pieces is one list', async () => {
    const runtimeCalls = [
      'Version',
      'Status',
      'RunPodSandbox',
      'StopPodSandbox',
      'RemovePodSandbox',
      'PodSandboxStatus',
      'ListPodSandbox',
      'StreamPodSandboxes',
      'CreateContainer',
      'StartContainer',
      'StopContainer',
      'RemoveContainer',
      'ListContainers',
      'StreamContainers',
      'ContainerStatus',
      'ReopenContainerLog',
      'UpdateContainerResources',
      'ExecSync',
      'Exec',
      'Attach',
      'PortForward',
      'ContainerStats',
      'ListContainerStats',
      'StreamContainerStats',
      'PodSandboxStats',
      'ListPodSandboxStats',
      'StreamPodSandboxStats',
      'UpdateRuntimeConfig',
      'CheckpointContainer',
      'GetContainerEvents',
      'ListMetricDescriptors',
      'ListPodSandboxMetrics',
      'StreamPodSandboxMetrics',
      'RuntimeConfig',
      'UpdatePodSandboxResources',
    ];
    const imageCalls = [
      'ListImages',
      'StreamImages',
      'ImageStatus',
      'PullImage',
      'RemoveImage',
      'ImageFsInfo',
    ];
    const known = (service: string) =>
      Object.keys(proto[`runtime.v1.${service}`] as ServiceDefinition).sort();
    expect(known('RuntimeService')).toEqual(runtimeCalls.sort());
    expect(known('ImageService')).toEqual(imageCalls.sort());
    const { runtime, images } = open();
    const methodOf = (call: string) => `${call[0]?.toLowerCase()}${call.slice(1)}`;
    const renamed: Record<string, string> = { getContainerEvents: 'containerEvents' };
    for (const call of runtimeCalls)
      expect(runtime).toHaveProperty(renamed[methodOf(call)] ?? methodOf(call));
    for (const call of imageCalls) expect(images).toHaveProperty(methodOf(call));

    const server = new Server();
    const pieces =
      (...all: readonly object[]) =>
      (call: ServerWritableStream<object, object>) => {
        for (const piece of all) call.write(piece);
        call.end();
      };
    const stats = (id: string) => ({ attributes: { id }, cpu: { usageCoreNanoSeconds: { value: '7' } } });
    const sandboxStats = {
      attributes: { id: 's', metadata: { uid: 'u' } },
      linux: {
        memory: { workingSetBytes: { value: '8' } },
        network: { defaultInterface: { rxBytes: { value: '9' } } },
        process: { processCount: { value: '2' } },
        containers: [stats('c')],
      },
    };
    const metric = { name: 'm', metricType: 'GAUGE', labelValues: ['a'], value: { value: '3' } };
    server.addService(proto['runtime.v1.RuntimeService'] as ServiceDefinition, {
      StreamPodSandboxes: pieces({ items: [{ id: 'a' }] }, { items: [{ id: 'b' }] }),
      StreamContainers: pieces({ containers: [{ id: 'c' }] }, { containers: [{ id: 'd' }, { id: 'e' }] }),
      StreamContainerStats: pieces({ stats: [stats('c')] }),
      StreamPodSandboxStats: pieces({ stats: [sandboxStats] }),
      StreamPodSandboxMetrics: pieces({ podMetrics: [{ podSandboxId: 's', metrics: [metric] }] }),
    });
    server.addService(proto['runtime.v1.ImageService'] as ServiceDefinition, {
      StreamImages: pieces({ images: [{ id: 'i' }] }, {}),
    });
    servers.push(server);
    await listen(server);
    const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);
    expect(ids(await runtime.streamPodSandboxes())).toEqual(['a', 'b']);
    expect(ids(await runtime.streamContainers())).toEqual(['c', 'd', 'e']);
    expect(ids(await images.streamImages())).toEqual(['i']);
    expect(await runtime.streamContainerStats()).toMatchObject([{ id: 'c', cpuCoreNanoSeconds: 7 }]);
    expect(await runtime.streamPodSandboxStats()).toMatchObject([
      { id: 's', podUid: 'u', workingSetBytes: 8, rxBytes: 9, txBytes: 0, processCount: 2 },
    ]);
    expect(await runtime.streamPodSandboxMetrics()).toMatchObject([
      { podSandboxId: 's', metrics: [{ name: 'm', metricType: 'GAUGE', value: 3 }] },
    ]);
    await expect(runtime.checkpointContainer('c', '/x', 1)).rejects.toMatchObject({
      call: 'CheckpointContainer',
      code: 'UNIMPLEMENTED',
    });
  });

  test('what is asked of the runtime as a whole arrives', async () => {
    const seen: Record<string, unknown>[] = [];
    const note = (answer: object) => (request: Record<string, unknown>) => {
      seen.push(request);
      return answer;
    };
    await serve('RuntimeService', {
      RuntimeConfig: () => ({ linux: { cgroupDriver: 'CGROUPFS' } }),
      UpdateRuntimeConfig: note({}),
      UpdatePodSandboxResources: note({}),
      CheckpointContainer: note({}),
      ContainerStats: () => ({}),
      PodSandboxStats: () => ({ stats: { attributes: { id: 's' } } }),
      ListMetricDescriptors: () => ({ descriptors: [{ name: 'm', help: 'h', labelKeys: ['a'] }] }),
    });
    const { runtime } = open();
    expect(await runtime.runtimeConfig()).toEqual({ cgroupDriver: 'CGROUPFS' });
    await runtime.updateRuntimeConfig('10.0.0.0/24');
    await runtime.updatePodSandboxResources('s', { cpuShares: 5 });
    await runtime.checkpointContainer('c', '/x.tar', 3);
    expect(seen).toMatchObject([
      { runtimeConfig: { networkConfig: { podCidr: '10.0.0.0/24' } } },
      { podSandboxId: 's', resources: { cpuShares: '5' } },
      { containerId: 'c', location: '/x.tar', timeout: '3' },
    ]);
    expect((await runtime.podSandboxStats('s')).id).toBe('s');
    expect(await runtime.listMetricDescriptors()).toEqual([{ name: 'm', help: 'h', labelKeys: ['a'] }]);
    await expect(runtime.containerStats('c')).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  test("containerd's own events serve where CRI has none, each topic under CRI's name", async () => {
    const server = await serve('RuntimeService', { Version: () => ({}) }, (one) =>
      one.addService(proto['containerd.services.events.v1.Events'] as ServiceDefinition, {
        Subscribe: (call: ServerWritableStream<{ filters: string[] }, object>) => {
          asked.push(...call.request.filters);
          for (const topic of ['/containers/create', '/tasks/start', '/other', '/tasks/delete'])
            call.write({ topic, event: { value: { containerId: 'c' } } });
          call.write({ topic: '/tasks/delete' });
          call.write({ topic: '/containers/delete', event: { value: { containerId: 'd' } } });
        },
      }),
    );
    const asked: string[] = [];
    const heard: ContainerEvent[] = [];
    const { runtime } = open();
    const events = runtime.containerEvents((one) => {
      heard.push(one);
      if (heard.length === 4) server.forceShutdown();
    }, new AbortController().signal);
    await expect(events).rejects.toMatchObject({ call: 'Subscribe' });
    expect(heard).toEqual([
      { containerId: 'c', type: 'CONTAINER_CREATED_EVENT' },
      { containerId: 'c', type: 'CONTAINER_STARTED_EVENT' },
      { containerId: 'c', type: 'CONTAINER_STOPPED_EVENT' },
      { containerId: 'd', type: 'CONTAINER_DELETED_EVENT' },
    ]);
    expect(asked).toContain('namespace=="k8s.io",topic=="/tasks/delete"');
  });

  test('a runtime without events says so', async () => {
    await serve('RuntimeService', { Version: () => ({}) });
    await expect(
      open().runtime.containerEvents(() => {}, new AbortController().signal),
    ).rejects.toMatchObject({ call: 'GetContainerEvents', code: 'UNIMPLEMENTED' });
  });
});
