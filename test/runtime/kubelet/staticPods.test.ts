// A kubelet that runs alone on a real containerd: static pods from a directory, their end, their restarts, their adoption.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { V1PodSpec, V1PodStatus } from '../../../src/api/gen/types.js';
import { type Log, silentLog } from '../../../src/api/log.js';
import { openCgroups } from '../../../src/kernel/cgroup/adapter.js';
import { openPleg } from '../../../src/kernel/pleg/adapter.js';
import type { RunningKubelet } from '../../../src/kubelet/dependencies.js';
import type { EventSink } from '../../../src/kubelet/events.js';
import { runKubelet } from '../../../src/kubelet/kubelet.js';
import { makePodParts } from '../../../src/kubelet/podParts.js';
import { CriNode } from '../../support/criNode.js';
import { IMAGE } from '../../support/imageArchive.js';
import { describeWith } from '../../support/requires.js';
import { until as eventually } from '../../support/until.js';

const events: string[] = [];
const sink: EventSink = { event: (_, { reason, message }) => events.push(`${reason}: ${message}`) };
const problems: string[] = [];
const log: Log = {
  ...silentLog,
  error: (message, fields) => problems.push(`${message} ${JSON.stringify(fields)}`),
};

describeWith(
  { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox'] },
  'a kubelet alone',
  () => {
    let node: CriNode;
    let kubelet: RunningKubelet;
    let manifests: string;

    let relists = 0;
    let isBlind = false;
    const start = async () => {
      const differ = openPleg();
      return runKubelet({
        config: {
          nodeName: 'node-1',
          nodeIps: ['127.0.0.1'],
          staticPodPath: manifests,
          rootDir: path.join(node.node.directory, 'kubelet'),
          podLogsDir: path.join(node.node.directory, 'logs'),
          cgroupRoot: node.node.cgroupParent,
          plegRelistPeriodMs: 200,
          housekeepingPeriodMs: 200,
        },
        runtime: node.cri,
        pleg: {
          relist: (...lists) => {
            relists++;
            return isBlind ? Promise.reject(new Error('nobody reads lists now')) : differ.relist(...lists);
          },
        },
        cgroups: await openCgroups(),
        events: sink,
        log,
        parts: makePodParts({ runtime: node.cri.runtime, log }),
      });
    };

    const write = (name: string, spec: Partial<V1PodSpec>) =>
      writeFileSync(
        path.join(manifests, `${name}.yaml`),
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name },
          spec: { terminationGracePeriodSeconds: 1, ...spec },
        }),
      );
    const shell = (name: string, script: string) => ({
      name,
      image: IMAGE,
      imagePullPolicy: 'Never',
      command: ['/bin/sh', '-c', script],
    });
    const statusOf = (name: string) => kubelet.pod('default', `${name}-node-1`)?.status;
    const until = (what: string, name: string, holds: (status: V1PodStatus) => boolean) =>
      eventually(() => {
        const status = statusOf(name);
        if (status !== undefined && holds(status)) return status;
        throw new Error(
          `${name} never was ${what}: ${JSON.stringify(status, undefined, 1)}\n${events.slice(-10).join('\n')}\n${problems.join('\n')}`,
        );
      });
    const untilGone = async (name: string) => {
      rmSync(path.join(manifests, `${name}.yaml`), { force: true });
      await eventually(async () => {
        const left = await node.cri.runtime.listPodSandbox();
        if (left.some(({ metadata }) => metadata.name === `${name}-node-1`))
          throw new Error(`${name} did not go: ${problems.join('\n')}`);
      });
    };
    const running = ({ phase }: V1PodStatus) => phase === 'Running';
    const containerIds = (name: string) =>
      (statusOf(name)?.containerStatuses ?? []).map(({ containerID = '' }) =>
        containerID.replace('containerd://', ''),
      );
    const sandboxesOf = async (name: string) =>
      (await node.cri.runtime.listPodSandbox()).filter(({ metadata }) => metadata.name === `${name}-node-1`);

    beforeAll(async () => {
      node = await CriNode.start();
      manifests = path.join(node.node.directory, 'manifests');
      mkdirSync(manifests);
      kubelet = await start();
    });
    afterEach(() => {
      events.length = 0;
      problems.length = 0;
    });
    afterAll(async () => {
      await kubelet?.stop();
      await node?.stop();
    });

    test('starts a pod that answers, and takes it down with its manifest', async () => {
      write('web', { containers: [shell('web', 'while true; do echo hello | nc -l -p 8080; done')] });
      const status = await until('Running', 'web', running);
      expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
        'PodReadyToStartContainers=True',
        'Initialized=True',
        'Ready=True',
        'ContainersReady=True',
        'PodScheduled=True',
      ]);
      expect(status.containerStatuses?.[0]).toMatchObject({ ready: true, started: true, restartCount: 0 });
      expect(status.podIP).toMatch(/^10\.77\.0\./);
      // Running means that the process was started; that it listens comes a moment later.
      const ask = `sleep 1 | /bin/busybox nc ${status.podIP} 8080`;
      const answer = await node.node.run('sh', '-c', `until ${ask} 2>/dev/null; do sleep 0.1; done`);
      expect(answer).toBe('hello\n');
      // The image is looked for while the sandbox is being described.
      expect(events.slice(0, 2).sort()).toEqual([
        expect.stringMatching(/^MissingClusterDNS: /),
        `Pulled: Container image "${IMAGE}" already present on machine and can be accessed by the pod`,
      ]);
      expect(events.slice(2)).toEqual(['Created: Container created', 'Started: Container started']);
      await untilGone('web');
      expect(events.at(-1)).toBe('Killing: Stopping container web');
    });

    test('a quiet node is not relisted, and hears of an end all the same', async () => {
      const script = 'until [ -e /over ]; do sleep 0.1; done; exit 4';
      write('told', { containers: [shell('told', script)], restartPolicy: 'Never' });
      const { containerStatuses } = await until('Running', 'told', running);
      const id = containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '';
      for (let before = -1; before !== relists; ) {
        before = relists;
        await sleep(1_000); // time for five
      }
      isBlind = true;
      try {
        await node.cri.runtime.execSync(id, ['/bin/sh', '-c', ': > /over'], 10);
        const ended = await until('over', 'told', ({ phase }) => phase === 'Failed');
        expect(ended.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 4 });
      } finally {
        isBlind = false;
      }
      await untilGone('told');
    });

    test('restarts what crashes, with back-off', async () => {
      write('crash', { containers: [shell('crash', 'echo oh no > /dev/termination-log; exit 3')] });
      const status = await until(
        'in back-off',
        'crash',
        ({ containerStatuses }) => containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
      );
      expect(status.phase).toBe('Running');
      expect(status.containerStatuses?.[0]).toMatchObject({
        restartCount: 1,
        ready: false,
        state: {
          waiting: {
            message: expect.stringMatching(
              /^back-off 10s restarting failed container=crash pod=crash-node-1_default/,
            ),
          },
        },
        lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'oh no\n' } },
      });
      expect(
        events.some((event) =>
          event.startsWith('BackOff: Back-off restarting failed container crash in pod'),
        ),
      ).toBe(true);
      await untilGone('crash');
    });

    test('runs init containers in order, then ends a pod that is done', async () => {
      write('job', {
        restartPolicy: 'Never',
        volumes: [{ name: 'shared', emptyDir: {} }],
        initContainers: ['one', 'two'].map((name) => ({
          ...shell(name, `echo ${name} >> /shared/said`),
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
        })),
        containers: [
          {
            ...shell('main', 'cat /shared/said > /dev/termination-log'),
            volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
          },
        ],
      });
      const status = await until('Succeeded', 'job', ({ phase }) => phase === 'Succeeded');
      expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({
        exitCode: 0,
        reason: 'Completed',
        message: 'one\ntwo\n',
      });
      await untilGone('job');
    });

    test('a pod whose sandbox dies is told of it, and begins again with its first init container', async () => {
      const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
      const noting = (name: string, more: string) => ({
        ...shell(name, `echo ${name} >> /shared/said; ${more}`),
        volumeMounts,
      });
      const side = noting('side', 'sleep 0.5; : > /started; exec sleep 1000');
      const startupProbe = { exec: { command: ['/bin/sh', '-c', '[ -e /started ]'] }, periodSeconds: 1 };
      write('pause', {
        volumes: [{ name: 'shared', emptyDir: {} }],
        initContainers: [
          noting('one', 'true'),
          { ...side, restartPolicy: 'Always', startupProbe },
          noting('two', '[ -e /shared/main ] || sleep 0.2'),
        ],
        containers: [noting('main', 'exec sleep 1000')],
      });
      const said = () => {
        const [id] = containerIds('pause');
        return node.cri.runtime.execSync(id ?? '', ['/bin/sh', '-c', 'cat /shared/said'], 10);
      };
      const before = await until('Running', 'pause', running);
      const [sandbox] = await sandboxesOf('pause');
      isBlind = true;
      try {
        await node.ctr('tasks', 'kill', '-s', 'SIGKILL', sandbox?.id ?? '');
        await until('begun again', 'pause', ({ containerStatuses: [main] = [] }) => {
          return main?.state?.running !== undefined && main.restartCount === 1;
        });
      } finally {
        isBlind = false;
      }
      const order = String((await said()).stdout)
        .trimEnd()
        .split('\n');
      expect(order).toEqual(['one', 'side', 'two', 'main', 'one', 'side', 'two', 'main']);
      const counts = statusOf('pause')?.initContainerStatuses?.map((one) => one.restartCount);
      expect(counts).toEqual([1, 1, 1]);
      expect(before.containerStatuses?.[0]?.restartCount).toBe(0);
      await untilGone('pause');
    });

    test('a manifest that goes and comes back unchanged while its pod ends runs again', async () => {
      const file = path.join(manifests, 'back.yaml');
      write('back', { restartPolicy: 'Never', containers: [shell('back', 'exec sleep 1000')] });
      await until('Running', 'back', running);
      const [before] = containerIds('back');
      const text = readFileSync(file);
      rmSync(file);
      await eventually(() => expect(events).toContain('Killing: Stopping container back'));
      writeFileSync(file, text);
      const after = await until('run again', 'back', () => {
        const [id = ''] = containerIds('back');
        return id !== '' && id !== before;
      });
      expect(after).toMatchObject({ containerStatuses: [{ restartCount: 0 }] });
      await until('Running', 'back', running);
      await untilGone('back');
    });

    test('what a container had to say is there after a restart of the kubelet', async () => {
      const say = 'echo done > /dev/termination-log; exit 7';
      write('words', { restartPolicy: 'Never', containers: [shell('words', say)] });
      const ended = ({ phase }: V1PodStatus) => phase === 'Failed';
      const message = ({ containerStatuses }: V1PodStatus) =>
        containerStatuses?.[0]?.state?.terminated?.message;
      expect(message(await until('over', 'words', ended))).toBe('done\n');
      await kubelet.stop();
      kubelet = await start();
      expect(message(await until('over', 'words', ended))).toBe('done\n');
      await untilGone('words');
    });

    test('adopts running containers after a restart', async () => {
      write('stay', { containers: [shell('stay', 'exec sleep 1000')] });
      const before = await until('Running', 'stay', running);
      await kubelet.stop();
      kubelet = await start();
      const after = await until('Running', 'stay', running);
      expect(after.containerStatuses?.[0]?.containerID).toBe(before.containerStatuses?.[0]?.containerID);
      expect(after.containerStatuses?.[0]?.restartCount).toBe(0);
      await sleep(500); // two relists and housekeepings, which must find nothing to do
      expect(statusOf('stay')?.containerStatuses?.[0]?.containerID).toBe(
        before.containerStatuses?.[0]?.containerID,
      );
      await untilGone('stay');
    });

    test('goes on after a crash of the runtime, with the containers that were there', async () => {
      write('survive', { containers: [shell('survive', 'exec sleep 1000')] });
      const before = await until('Running', 'survive', running);
      await node.restart();
      write('later', { containers: [shell('later', 'exec sleep 1000')] });
      await until('Running', 'later', running);
      expect(statusOf('survive')?.containerStatuses?.[0]).toMatchObject({
        containerID: before.containerStatuses?.[0]?.containerID,
        restartCount: 0,
      });
      await untilGone('survive');
      await untilGone('later');
    });

    test('a wrong manifest is told with file and field and stops no other', async () => {
      writeFileSync(path.join(manifests, 'bad.yaml'), 'apiVersion: v1\nkind: Pod\nmetadata: {name: ../x}\n');
      write('good', { containers: [shell('good', 'exec sleep 1000')] });
      await until('Running', 'good', running);
      expect(problems.join()).toContain('bad.yaml: metadata.name');
      rmSync(path.join(manifests, 'bad.yaml'));
      await untilGone('good');
    });

    test('a missing image waits with its reason', async () => {
      write('none', {
        containers: [{ name: 'none', image: 'localhost/nothing:1', imagePullPolicy: 'Never' }],
      });
      const status = await until(
        'told',
        'none',
        ({ containerStatuses }) => containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull',
      );
      expect(status.phase).toBe('Pending');
      await untilGone('none');
    });
  },
);
