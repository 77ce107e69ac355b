import { describe, expect, test } from 'vitest';
import type { V1Container, V1PodStatus } from '../../../../src/api/gen/types.js';
import type { Pod } from '../../../../src/kubelet/ports.js';
import { emptyRuntimePod, type RuntimePod } from '../../../../src/kubelet/runtime/runtimePod.js';
import { podStatus, type StatusFacts } from '../../../../src/kubelet/status/podStatus.js';
import { container, podOf, run, runtimePod, sandbox } from '../support.js';

const NOW = Date.parse('2026-01-01T00:00:10Z');
const status = (pod: Pod, runtime: RuntimePod, more: Partial<StatusFacts> = {}): V1PodStatus =>
  podStatus({
    pod,
    runtime,
    previous: {},
    hostIps: ['192.0.2.1'],
    isTerminating: false,
    now: NOW,
    failures: new Map(),
    isReady: () => true,
    isStarted: () => true,
    ...more,
  });
const conditions = ({ conditions: list = [] }: V1PodStatus) =>
  Object.fromEntries(list.map(({ type, status: is }) => [type, is]));

const plain = podOf();
const withInit = podOf({ initContainers: [container('one')] });
const never = podOf({ restartPolicy: 'Never' });
const onFailure = podOf({ restartPolicy: 'OnFailure' });
const ruled = podOf({
  restartPolicy: 'Never',
  containers: [
    container('web', {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    }),
  ],
});
const exited = (pod: Pod, exitCode: number) => runtimePod([run(pod, 'web', 'exited', { exitCode })]);

describe('the phase of a pod', () => {
  test.each<[string, Pod, RuntimePod, Partial<StatusFacts>, string]>([
    ['nothing there yet', plain, emptyRuntimePod('u1'), {}, 'Pending'],
    ['a running container', plain, runtimePod([run(plain, 'web', 'running')]), {}, 'Running'],
    ['crashed, to be restarted', plain, exited(plain, 1), {}, 'Running'],
    ['ended well, to be restarted', plain, exited(plain, 0), {}, 'Running'],
    ['Never and ended well', never, exited(never, 0), {}, 'Succeeded'],
    ['Never and failed', never, exited(never, 1), {}, 'Failed'],
    ['OnFailure and ended well', onFailure, exited(onFailure, 0), {}, 'Succeeded'],
    ['OnFailure and failed', onFailure, exited(onFailure, 1), {}, 'Running'],
    ['Never, with a rule for another code', ruled, exited(ruled, 1), {}, 'Failed'],
    ['Never, with a rule for its code', ruled, exited(ruled, 42), {}, 'Running'],
    ['initialising', withInit, runtimePod([run(withInit, 'one', 'running')]), {}, 'Pending'],
    ['terminated after success', plain, exited(plain, 0), { isTerminating: true }, 'Succeeded'],
    ['terminated by a signal', plain, exited(plain, 143), { isTerminating: true }, 'Failed'],
    [
      'still running while ending',
      plain,
      runtimePod([run(plain, 'web', 'running')]),
      { isTerminating: true },
      'Running',
    ],
    [
      'ended once stays ended',
      plain,
      runtimePod([run(plain, 'web', 'running')]),
      { previous: { phase: 'Failed' } },
      'Failed',
    ],
    [
      'over its deadline',
      plain,
      runtimePod([run(plain, 'web', 'running')]),
      { failure: { reason: 'DeadlineExceeded', message: 'm' } },
      'Running',
    ],
    [
      'past its deadline, and ended',
      plain,
      exited(plain, 143),
      { isTerminating: true, failure: { reason: 'DeadlineExceeded', message: 'm' } },
      'Failed',
    ],
  ])('%s', (_, pod, runtime, more, phase) => {
    expect(status(pod, runtime, more).phase).toBe(phase);
  });
});

describe('the status of a pod', () => {
  const some = { requests: { cpu: '2m', memory: '10Mi' }, limits: { cpu: '10m' } };
  const both = [container('web', { resources: some }), container('side', { resources: some })];
  const [web] = both;
  test.each<[string, Partial<Pod['spec']>, Partial<V1PodStatus>]>([
    ['nothing is asked for', {}, { resources: {} }],
    [
      'containers alone ask',
      { containers: both },
      {
        resources: { requests: { cpu: '4m', memory: '20Mi' }, limits: { cpu: '20m' } },
        allocatedResources: { cpu: '4m', memory: '20Mi' },
      },
    ],
    [
      'one container has no limit',
      { containers: [web as V1Container, container('side')] },
      { resources: { requests: some.requests }, allocatedResources: some.requests },
    ],
    [
      'the pod asks as a whole',
      { containers: both, resources: { requests: { cpu: '5m' }, limits: { cpu: '25m' } } },
      {
        resources: { requests: { cpu: '5m' }, limits: { cpu: '25m' } },
        allocatedResources: { cpu: '5m' },
      },
    ],
  ])('resources of the pod as a whole: %s', (_, spec, expected) => {
    const pod = podOf(spec);
    const { resources, allocatedResources } = status(pod, emptyRuntimePod('u1'));
    expect({ resources, allocatedResources }).toEqual({ allocatedResources: undefined, ...expected });
  });

  test('a healthy pod', () => {
    expect(status(plain, runtimePod([run(plain, 'web', 'running')]))).toMatchObject({
      hostIP: '192.0.2.1',
      podIP: '10.0.0.7',
      podIPs: [{ ip: '10.0.0.7' }],
      startTime: '2026-01-01T00:00:10Z',
      qosClass: 'BestEffort',
      containerStatuses: [
        {
          name: 'web',
          ready: true,
          started: true,
          restartCount: 0,
          containerID: 'containerd://web-0',
          imageID: 'sha256:abc',
          state: { running: { startedAt: '1970-01-01T00:00:02Z' } },
          lastState: {},
        },
      ],
    });
  });

  test('before anything runs, containers are being created', () => {
    const shown = status(plain, emptyRuntimePod('u1'));
    expect(shown.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    expect(conditions(shown)).toEqual({
      PodReadyToStartContainers: 'False',
      Initialized: 'True',
      Ready: 'False',
      ContainersReady: 'False',
      PodScheduled: 'True',
    });
    expect(status(withInit, emptyRuntimePod('u1')).containerStatuses?.[0]?.state).toEqual({
      waiting: { reason: 'PodInitializing' },
    });
  });

  test('is initialized neither while its containers wait nor any less once one has ended', () => {
    expect(conditions(status(withInit, emptyRuntimePod('u1')))['Initialized']).toBe('False');
    const failures = new Map([['web', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
    const ended = runtimePod([run(withInit, 'web', 'exited', { exitCode: 1 })]);
    expect(conditions(status(withInit, ended, { failures }))['Initialized']).toBe('True');
  });

  test('a crash loop shows why it waits and how it ended', () => {
    const failures = new Map([['web', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
    const runtime = runtimePod([run(plain, 'web', 'exited', { exitCode: 1, attempt: 2, message: 'oops' })]);
    expect(status(plain, runtime, { failures }).containerStatuses?.[0]).toMatchObject({
      restartCount: 2,
      ready: false,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: { terminated: { exitCode: 1, reason: 'Error', message: 'oops' } },
    });
  });

  test('a restarted container shows its last run', () => {
    const runtime = runtimePod([
      run(plain, 'web', 'running', { attempt: 1 }),
      run(plain, 'web', 'exited', { exitCode: 137, reason: 'OOMKilled' }),
    ]);
    expect(status(plain, runtime).containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } },
    });
  });

  test('readiness follows the probes and is named in the condition', () => {
    const shown = status(plain, runtimePod([run(plain, 'web', 'running')]), { isReady: () => false });
    expect(shown.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [web]',
    });
  });

  test('a gate keeps a pod from being ready until somebody opens it', () => {
    const gated = podOf({ readinessGates: [{ conditionType: 'example.com/open' }] });
    const runtime = runtimePod([run(gated, 'web', 'running')]);
    expect(conditions(status(gated, runtime))['Ready']).toBe('False');
    const open = { conditions: [{ type: 'example.com/open', status: 'True' }] };
    const shown = status(gated, runtime, { previous: open });
    expect(conditions(shown)).toMatchObject({ Ready: 'True', 'example.com/open': 'True' });
  });

  test('a transition time moves only with its status', () => {
    const runtime = runtimePod([run(plain, 'web', 'running')]);
    const before = status(plain, runtime);
    expect(status(plain, runtime, { previous: before, now: NOW + 60_000 })).toEqual(before);
  });

  test('a container that vanished is told as lost', () => {
    const previous = status(plain, runtimePod([run(plain, 'web', 'running')]));
    expect(status(plain, runtimePod([], [sandbox()]), { previous }).containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 } },
    });
  });

  test('a pod on the network of its node has its address', () => {
    const pod = podOf({ hostNetwork: true });
    const host = sandbox({ network: { ip: '', additionalIps: [] } });
    expect(status(pod, runtimePod([run(pod, 'web', 'running')], [host])).podIP).toBe('192.0.2.1');
  });
});

test('the last words of all containers together are bounded, each has an equal part', () => {
  const names = ['a', 'b', 'c', 'd'];
  const pod = podOf({ restartPolicy: 'Never', containers: names.map((name) => container(name)) });
  const message = `x${'\u00e9'.repeat(2_000)}`;
  const runs = names.map((name) => run(pod, name, 'exited', { exitCode: 1, message }));
  const said = status(pod, runtimePod(runs)).containerStatuses?.map(
    ({ state }) => state?.terminated?.message ?? '',
  );
  // A cut through a character leaves it out.
  expect(said).toEqual(names.map(() => `x${'\u00e9'.repeat(1_535)}`));
});
