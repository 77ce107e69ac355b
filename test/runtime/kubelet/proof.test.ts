// What must hold when things go wrong: crashes of the kubelet, the runtime and the apiserver, hostile pods, many cycles.
// TRELLIS_PROOF=long runs it with a full node: 50 pods through a crash, 110 at once, 500 create and delete cycles, an
// apiserver that is away for minutes; and tells how long the kubelet took to be itself again, and what it grew by.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Container, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { NAMESPACES, NODES, PODS } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client } from '../../../src/client/client.js';
import { openClient } from '../../../src/client/typedClient.js';
import { CriNode } from '../../support/criNode.js';
import { IMAGE } from '../../support/imageArchive.js';
import { KUBELET_MAIN, KubeletProcess } from '../../support/kubelet/kubeletProcess.js';
import { describeWith } from '../../support/requires.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

const LONG = process.env['TRELLIS_PROOF'] === 'long';
const CRASH_PODS = LONG ? 50 : 8;
const FULL_NODE = LONG ? 110 : 12;
const CYCLES = LONG ? 500 : 6;
const AT_A_TIME = 10;
const MINUTES = LONG ? 60 : 3;
/** For one condition. A machine with other work starts a full node in minutes. */
const PATIENCE_MS = LONG ? 300_000 : 60_000;
/** For which the apiserver is away. */
const AWAY_MS = LONG ? 120_000 : 0;

const report = (words: string) => {
  if (LONG) console.info(words);
};
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const residentMb = (pid: number) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

const needs = { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox', KUBELET_MAIN] };
describeWith(needs, 'a kubelet under stress', () => {
  let node: CriNode;
  let api: TestApiServer;
  let client: Client;
  let kubelet: KubeletProcess;

  const shell = (script: string, more: Partial<V1Container> = {}): V1Container => ({
    name: 'main',
    image: IMAGE,
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', script],
    ...more,
  });
  const create = (name: string, spec: Partial<V1PodSpec> = {}) =>
    client.of(PODS).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName: 'node-1',
        terminationGracePeriodSeconds: 1,
        automountServiceAccountToken: false,
        containers: [shell('exec sleep 10000')],
        ...spec,
      } as V1PodSpec,
    });
  const get = (name: string): Promise<Stored<V1Pod> | undefined> =>
    client
      .of(PODS)
      .get({ namespace: 'default', name })
      .catch((error: unknown) => {
        if (ApiError.is(error, 'NotFound')) return undefined;
        throw error;
      });
  const until = async <T>(what: string, ask: () => Promise<T | undefined | false>): Promise<T> => {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      if (Date.now() > deadline) throw new Error(`never ${what}: ${kubelet.output()}`);
      await sleep(100);
    }
  };
  const untilRunning = (name: string) =>
    until(`${name} running`, async () => {
      const pod = await get(name);
      return pod?.status.phase === 'Running' ? pod : undefined;
    });
  const remove = async (name: string) => {
    await client.of(PODS).delete({ namespace: 'default', name });
    await until(`${name} gone`, async () => (await get(name)) === undefined);
  };
  const inBatches = async (names: readonly string[], work: (name: string) => Promise<unknown>) => {
    for (let i = 0; i < names.length; i += AT_A_TIME)
      await Promise.all(names.slice(i, i + AT_A_TIME).map(work));
  };
  const namesOf = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
  const identityOf = ({ metadata, status }: Stored<V1Pod>) => {
    const [container] = status.containerStatuses ?? [];
    return `${metadata.name} ${container?.containerID} ${container?.restartCount}`;
  };
  const isReady = async () => {
    const { status } = await client.of(NODES).get({ name: 'node-1' });
    return status.conditions?.find(({ type }) => type === 'Ready')?.status;
  };

  /** Everything that a pod may leave on a node. */
  const traces = async () => {
    const lines = async (script: string) =>
      (await node.node.run('sh', '-c', script)).split('\n').filter((line) => line !== '').length;
    const { directory, cgroupParent } = node.node;
    const count = (at: string) => {
      try {
        return readdirSync(at).length;
      } catch {
        return 0; // not made yet
      }
    };
    return {
      mounts: await lines(`grep -E '${directory}|/run/containerd|/run/netns' /proc/self/mounts || true`),
      // The node's first process is a mere sleep, which buries nobody: those that have ended stay as names.
      shims: await lines("ps -eo args | grep '[c]ontainerd-shim' | grep -v defunct || true"),
      namespaces: await lines('ls /run/netns 2>/dev/null || true'),
      // By netlink: /sys/class/net is the machine's, with the devices of whatever else runs on it.
      devices: await lines('ip -o link show'),
      addresses: await lines(`find ${directory}/addresses -name '10.*' || true`),
      pods: count(path.join(directory, 'kubelet', 'pods')),
      logs: count(path.join(directory, 'logs')),
      groups: await lines(`find /sys/fs/cgroup -path '*${cgroupParent}*' -type d | grep /pod || true`),
    };
  };

  beforeAll(async () => {
    node = await CriNode.start();
    api = await startTestApiServer();
    client = openClient(api.transport);
    await client
      .of(NAMESPACES)
      .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    kubelet = await KubeletProcess.make(node, api, { podPidsLimit: 40, maxPods: 200 });
    kubelet.start();
    await until('ready', async () => (await isReady().catch(() => undefined)) === 'True');
    // The bridge and the directories of the first pod stay for those after it.
    await create('first');
    await untilRunning('first');
    await remove('first');
  }, 120_000);
  afterAll(async () => {
    await kubelet?.stop();
    await api?.close();
    await node?.stop();
  });

  test(
    'kill -9 of the kubelet: no container restarts, and what changed meanwhile is caught up with',
    async () => {
      const names = namesOf('crash', CRASH_PODS);
      await inBatches(names, (name) => create(name));
      const before = await Promise.all(names.map(untilRunning));
      await kubelet.kill();
      await client.of(PODS).delete({ namespace: 'default', name: 'crash-0' });
      await create('born-meanwhile');
      const begun = performance.now();
      kubelet.start();
      await until('crash-0 gone', async () => (await get('crash-0')) === undefined);
      await untilRunning('born-meanwhile');
      report(
        `${CRASH_PODS} pods adopted, one ended and one started ${seconds(performance.now() - begun)} after the start`,
      );
      const after = await Promise.all(names.slice(1).map(untilRunning));
      expect(after.map(identityOf)).toEqual(before.slice(1).map(identityOf));
      await inBatches([...names.slice(1), 'born-meanwhile'], remove);
    },
    MINUTES * 60_000,
  );

  test(
    'the apiserver away: pods run on, static pods start, and the status catches up',
    async () => {
      await create('steady');
      const before = identityOf(await untilRunning('steady'));
      kubelet.shutApiserver();
      writeFileSync(
        path.join(kubelet.manifests, 'alone.json'),
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'alone' },
          spec: { terminationGracePeriodSeconds: 1, containers: [shell('exec sleep 10000')] },
        }),
      );
      const isUp = async () =>
        (await node.cri.runtime.listContainers()).some(
          ({ labels, state }) =>
            labels['io.kubernetes.pod.name'] === 'alone-node-1' && state === 'CONTAINER_RUNNING',
        );
      await until('started alone', isUp);
      await sleep(AWAY_MS);
      expect(await isUp()).toBe(true);
      kubelet.openApiserver();
      await untilRunning('alone-node-1');
      expect(identityOf(await untilRunning('steady'))).toBe(before);
      writeFileSync(path.join(kubelet.manifests, 'alone.json'), '');
      await node.node.run('rm', path.join(kubelet.manifests, 'alone.json'));
      await until('alone gone', async () => !(await isUp()));
      await remove('steady');
    },
    MINUTES * 60_000,
  );

  test(
    'kill -9 of the runtime: containers run on, and new pods start',
    async () => {
      await create('survivor');
      const before = identityOf(await untilRunning('survivor'));
      await node.restart();
      await create('after');
      await untilRunning('after');
      expect(identityOf(await untilRunning('survivor'))).toBe(before);
      await inBatches(['survivor', 'after'], remove);
    },
    MINUTES * 60_000,
  );

  test(
    'a fork bomb meets the limit of processes, and the node stays Ready',
    async () => {
      await create('bomb', { containers: [shell('while true; do sleep 1000 & done')] });
      const bomb = await untilRunning('bomb');
      const group = `/sys/fs/cgroup/pids${node.node.cgroupParent}/kubepods/besteffort/pod${bomb.metadata.uid}`;
      const processes = () => {
        try {
          return Number(readFileSync(`${group}/pids.current`, 'utf8'));
        } catch {
          return Number.NaN; // control groups of version 2 are elsewhere
        }
      };
      await sleep(500);
      const seen = processes();
      if (!Number.isNaN(seen)) expect(seen).toBeLessThanOrEqual(40);
      await create('neighbour');
      await untilRunning('neighbour');
      expect(await isReady()).toBe('True');
      await inBatches(['bomb', 'neighbour'], remove);
    },
    MINUTES * 60_000,
  );

  test(
    'a subPath that leads out by a link is refused, with an event and a waiting reason',
    async () => {
      await create('escape', {
        volumes: [{ name: 'data', emptyDir: {} }],
        initContainers: [
          shell('ln -s /etc /data/out', {
            name: 'plant',
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          }),
        ],
        containers: [
          shell('exec sleep 10000', {
            volumeMounts: [{ name: 'data', mountPath: '/inside', subPath: 'out' }],
          }),
        ],
      });
      const reason = await until('refused', async () => {
        const pod = await get('escape');
        return pod?.status.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError'
          ? pod.status.containerStatuses[0].state.waiting
          : undefined;
      });
      expect(reason.message).toMatch(/subPath|sub path|symlink|link/i);
      await remove('escape');
    },
    MINUTES * 60_000,
  );

  test(
    'a full node comes up whole, and many cycles leave nothing behind',
    async () => {
      // Kubelet and runtime remove what is dead in their own time: the count begins with a node that has become quiet.
      await until('empty', async () => (await node.cri.runtime.listPodSandbox()).length === 0);
      let before = await traces();
      await until('quiet', async () => {
        const last = before;
        await sleep(2_000);
        before = await traces();
        return isDeepStrictEqual(before, last);
      });
      const full = namesOf('full', FULL_NODE);
      await inBatches(full, (name) => create(name));
      await Promise.all(full.map(untilRunning));
      expect(await isReady()).toBe('True');
      await inBatches(full, remove);
      const descriptors = () => readdirSync(`/proc/${kubelet.pid}/fd`).length;
      const cycle = async (name: string) => {
        await create(name);
        await untilRunning(name);
        await remove(name);
      };
      // A heap breathes until it knows its work; what leaks a little each cycle goes on growing in the second half.
      const cycles = namesOf('cycle', CYCLES);
      await inBatches(cycles.slice(0, CYCLES / 2), cycle);
      const open = descriptors();
      const resident = residentMb(kubelet.pid);
      await inBatches(cycles.slice(CYCLES / 2), cycle);
      // What an earlier crash of the runtime left may go meanwhile: nothing may be more than it was.
      const left = async () =>
        Object.entries(await traces()).filter(([what, count]) => count > before[what as keyof typeof before]);
      await until('clean', async () => (await left()).length === 0).catch(() => {}); // told below
      expect(await left()).toEqual([]);
      expect(descriptors()).toBeLessThanOrEqual(open + 5);
      const grown = residentMb(kubelet.pid) - resident;
      report(
        `the second half of ${CYCLES} cycles: ${open} descriptors became ${descriptors()}, ${resident.toFixed(0)} MB grew by ${grown.toFixed(0)}`,
      );
      expect(grown).toBeLessThan(40);
    },
    MINUTES * 60_000,
  );
});
