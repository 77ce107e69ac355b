import { describe, expect, test } from 'vitest';
import type { V1ResourceRequirements } from '../../../src/api/gen/types.js';
import { computePodActions, type PodFacts, type ProbeFailure } from '../../../src/kubelet/podActions.js';
import type { Pod } from '../../../src/kubelet/ports.js';
import { emptyRuntimePod, type RuntimePod } from '../../../src/kubelet/runtime/runtimePod.js';
import { container, podOf, run, runtimePod, sandbox } from './support.js';

const actions = (pod: Pod, status: RuntimePod, more: Partial<PodFacts> = {}) =>
  computePodActions({
    pod,
    status,
    probeFailure: () => undefined,
    isStarted: () => true,
    given: () => undefined,
    givenWhole: undefined,
    ...more,
  });

/** The decision in short: what is made, started and killed, by name. */
const brief = (pod: Pod, status: RuntimePod, more: Partial<PodFacts> = {}) => {
  const { createSandbox, killPod, attempt, initContainersToStart, containersToStart, ...other } = actions(
    pod,
    status,
    more,
  );
  const { containersToKill, containersToResize, ephemeralContainersToStart, runsToForget } = other;
  const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);
  return {
    ...(createSandbox ? { sandbox: attempt } : {}),
    ...(killPod ? { killPod } : {}),
    ...(ephemeralContainersToStart.length > 0 ? { debug: names(ephemeralContainersToStart) } : {}),
    ...(containersToResize.length > 0 ? { resize: containersToResize.map(({ id }) => id) } : {}),
    ...(runsToForget.length > 0 ? { forget: runsToForget.map(({ id }) => id) } : {}),
    init: names(initContainersToStart),
    start: names(containersToStart),
    kill: containersToKill.map(({ id }) => id),
  };
};

const plain = podOf();
const withInit = podOf({ initContainers: [container('one'), container('two')] });
const withSidecar = podOf({
  initContainers: [container('side', { restartPolicy: 'Always' }), container('one')],
});
const never = podOf({ restartPolicy: 'Never' });
const neverInit = podOf({ restartPolicy: 'Never', initContainers: [container('one'), container('two')] });
const ruled = podOf({
  restartPolicy: 'Never',
  initContainers: [container('one')],
  containers: [
    container('web', {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
    }),
    container('other'),
  ],
});
const ownPolicy = podOf({ containers: [container('web', { restartPolicy: 'OnFailure' })] });
const onFailure = podOf({ restartPolicy: 'OnFailure' });
const failing = (kind: 'liveness' | 'startup') => (): ProbeFailure => ({ kind, message: 'refused' });
const nothing = { init: [], start: [], kill: [] };

describe('what a pod needs next', () => {
  test.each<[string, Pod, RuntimePod, object]>([
    [
      'a new pod gets a sandbox and its containers',
      plain,
      emptyRuntimePod('u1'),
      { sandbox: 0, killPod: true, ...nothing, start: ['web'] },
    ],
    [
      'a new pod with init containers gets the first of them',
      withInit,
      emptyRuntimePod('u1'),
      { sandbox: 0, killPod: true, ...nothing, init: ['one'] },
    ],
    [
      'a rule that restarts all ends the others first',
      ruled,
      runtimePod([run(ruled, 'web', 'exited', { exitCode: 42 }), run(ruled, 'other', 'running')]),
      { ...nothing, kill: ['other-0'] },
    ],
    [
      'and then every run is forgotten, those of init containers too',
      ruled,
      runtimePod([
        run(ruled, 'web', 'exited', { exitCode: 42 }),
        run(ruled, 'other', 'exited', { exitCode: 137 }),
        run(ruled, 'one', 'exited'),
      ]),
      { ...nothing, forget: ['one-0', 'web-0', 'other-0'] },
    ],
    [
      'after which the pod begins with its first init container',
      ruled,
      runtimePod([]),
      { ...nothing, init: ['one'] },
    ],
    [
      'another code restarts nothing',
      ruled,
      runtimePod([run(ruled, 'web', 'exited', { exitCode: 7 }), run(ruled, 'other', 'running')]),
      nothing,
    ],
    ['a healthy pod is left alone', plain, runtimePod([run(plain, 'web', 'running')]), nothing],
    [
      'a crashed container starts again',
      plain,
      runtimePod([run(plain, 'web', 'exited', { exitCode: 1 })]),
      { ...nothing, start: ['web'] },
    ],
    [
      'one that ended well starts again with Always',
      plain,
      runtimePod([run(plain, 'web', 'exited')]),
      { ...nothing, start: ['web'] },
    ],
    [
      'with Never nothing starts again, and the pod ends',
      never,
      runtimePod([run(never, 'web', 'exited', { exitCode: 1 })]),
      { ...nothing, killPod: true },
    ],
    [
      'with OnFailure a success ends the pod',
      onFailure,
      runtimePod([run(onFailure, 'web', 'exited')]),
      { ...nothing, killPod: true },
    ],
    [
      'with OnFailure a failure starts again',
      onFailure,
      runtimePod([run(onFailure, 'web', 'exited', { exitCode: 2 })]),
      { ...nothing, start: ['web'] },
    ],
    [
      'a created container that never started is started',
      plain,
      runtimePod([run(plain, 'web', 'created')]),
      { ...nothing, start: ['web'] },
    ],
    [
      'a dead sandbox is replaced',
      plain,
      runtimePod([run(plain, 'web', 'running')], [sandbox({ state: 'SANDBOX_NOTREADY' })]),
      { sandbox: 1, killPod: true, ...nothing, start: ['web'] },
    ],
    [
      'a sandbox without an address is replaced',
      plain,
      runtimePod([], [sandbox({ network: { ip: '', additionalIps: [] } })]),
      { sandbox: 1, killPod: true, ...nothing, start: ['web'] },
    ],
    [
      'two ready sandboxes are one too many',
      plain,
      runtimePod([], [sandbox({ id: 'b' }), sandbox()]),
      { sandbox: 1, killPod: true, ...nothing, start: ['web'] },
    ],
    [
      // As Kubernetes has it: the pod stays Pending until somebody deletes it.
      'with Never a pod whose sandbox went between two init containers is not begun again',
      neverInit,
      runtimePod([run(neverInit, 'one', 'exited')], [sandbox({ state: 'SANDBOX_NOTREADY' })]),
      { killPod: true, ...nothing },
    ],
    [
      'with Never a pod whose sandbox went before its first init container is begun again',
      neverInit,
      runtimePod([], [sandbox({ state: 'SANDBOX_NOTREADY' })]),
      { sandbox: 1, killPod: true, ...nothing, init: ['one'] },
    ],
    [
      'with Never a pod that ran is not begun again',
      never,
      runtimePod([run(never, 'web', 'exited')], [sandbox({ state: 'SANDBOX_NOTREADY' })]),
      { ...nothing, killPod: true },
    ],
    [
      'the second init container follows the first',
      withInit,
      runtimePod([run(withInit, 'one', 'exited')]),
      { ...nothing, init: ['two'] },
    ],
    [
      'a running init container is waited for',
      withInit,
      runtimePod([run(withInit, 'one', 'running')]),
      nothing,
    ],
    [
      'a failed init container starts again',
      withInit,
      runtimePod([run(withInit, 'one', 'exited', { exitCode: 1 })]),
      { ...nothing, init: ['one'] },
    ],
    [
      'after the last init container the containers start',
      withInit,
      runtimePod([run(withInit, 'two', 'exited'), run(withInit, 'one', 'exited')]),
      { ...nothing, start: ['web'] },
    ],
    [
      'init containers are not run again for a restart',
      withInit,
      runtimePod([run(withInit, 'web', 'exited', { exitCode: 1 })]),
      { ...nothing, start: ['web'] },
    ],
    [
      'in a new sandbox the second init container follows the first, whatever ran in the former',
      withInit,
      runtimePod(
        [
          run(withInit, 'one', 'exited', { attempt: 1, sandboxId: 'new' }),
          ...['web', 'two', 'one'].map((name) => run(withInit, name, 'exited')),
        ],
        [sandbox({ id: 'new' }), sandbox({ state: 'SANDBOX_NOTREADY' })],
      ),
      { ...nothing, init: ['two'] },
    ],
    [
      'in a new sandbox the containers start after the last init container',
      withInit,
      runtimePod(
        [
          ...['two', 'one'].map((name) => run(withInit, name, 'exited', { attempt: 1, sandboxId: 'new' })),
          ...['web', 'two', 'one'].map((name) => run(withInit, name, 'exited', { exitCode: 137 })),
        ],
        [sandbox({ id: 'new' }), sandbox({ state: 'SANDBOX_NOTREADY' })],
      ),
      { ...nothing, start: ['web'] },
    ],
    [
      'a sidecar of a former sandbox is none of the new one',
      withSidecar,
      runtimePod(
        ['web', 'one', 'side'].map((name) => run(withSidecar, name, 'exited', { exitCode: 137 })),
        [sandbox({ id: 'new' }), sandbox({ state: 'SANDBOX_NOTREADY' })],
      ),
      { ...nothing, init: ['side'] },
    ],
    [
      'a container with OnFailure of its own that ended well needs no new sandbox',
      ownPolicy,
      runtimePod([run(ownPolicy, 'web', 'exited')], [sandbox({ state: 'SANDBOX_NOTREADY' })]),
      { ...nothing, killPod: true },
    ],
    [
      'a running sidecar lets the next init container start',
      withSidecar,
      runtimePod([run(withSidecar, 'side', 'running')]),
      { ...nothing, init: ['one'] },
    ],
    [
      'a crashed sidecar starts again beside its containers',
      withSidecar,
      runtimePod([run(withSidecar, 'web', 'running'), run(withSidecar, 'side', 'exited', { exitCode: 1 })]),
      { ...nothing, init: ['side'] },
    ],
    [
      'a new image restarts the container',
      podOf({ containers: [container('web', { image: 'busybox:2' })] }),
      runtimePod([run(plain, 'web', 'running')]),
      { ...nothing, start: ['web'], kill: ['web-0'] },
    ],
  ])('%s', (_, pod, status, expected) => {
    expect(brief(pod, status)).toEqual(expected);
  });

  test('a failed init container ends a pod that never restarts', () => {
    const pod = podOf({ initContainers: [container('one')], restartPolicy: 'Never' });
    const status = runtimePod([run(pod, 'one', 'exited', { exitCode: 1 })]);
    expect(brief(pod, status)).toEqual({ ...nothing, killPod: true });
  });

  test('a sidecar that has not started holds the containers back', () => {
    const status = runtimePod([run(withSidecar, 'side', 'running')]);
    expect(brief(withSidecar, status, { isStarted: () => false })).toEqual(nothing);
  });

  test('a failed liveness probe kills and restarts', () => {
    const { containersToKill, containersToStart } = actions(
      plain,
      runtimePod([run(plain, 'web', 'running')]),
      {
        probeFailure: failing('liveness'),
      },
    );
    expect(containersToKill).toMatchObject([
      { id: 'web-0', probe: 'liveness', message: 'Container web failed liveness probe, will be restarted' },
    ]);
    expect(containersToStart.map(({ name }) => name)).toEqual(['web']);
  });

  test.each<[string, V1ResourceRequirements, object]>([
    ['the same amount in other words', { requests: { cpu: '1000m' } }, nothing],
    ['another amount', { requests: { cpu: '2' } }, { ...nothing, resize: ['web-0'] }],
    [
      'another amount of what restarts',
      { requests: { cpu: '1' }, limits: { memory: '1Gi' } },
      { ...nothing, start: ['web'], kill: ['web-0'] },
    ],
  ])('a container was given less than it is granted: %s', (_, resources, expected) => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const pod = podOf({ containers: [container('web', { resources, resizePolicy })] });
    const status = runtimePod([run(pod, 'web', 'running')]);
    expect(brief(pod, status, { given: () => ({ requests: { cpu: '1' } }) })).toEqual(expected);
  });

  test.each<[string, V1ResourceRequirements, object]>([
    ['one without a limit of its own gets it', { requests: { cpu: '1' } }, { resize: ['web-0', 'side-0'] }],
    ['one with a limit of its own keeps that', { limits: { cpu: '100m' } }, { resize: ['side-0'] }],
  ])('the pod as a whole is granted another limit: %s', (_, resources, expected) => {
    const pod = podOf({
      containers: [container('web', { resources }), container('side')],
      resources: { limits: { cpu: '2' } },
    });
    const status = runtimePod([run(pod, 'web', 'running'), run(pod, 'side', 'running')]);
    const given = ({ name }: { name: string }) => (name === 'web' ? resources : {});
    expect(brief(pod, status, { given, givenWhole: { limits: { cpu: '1' } } })).toEqual({
      ...nothing,
      ...expected,
    });
    expect(brief(pod, status, { given })).toEqual(nothing);
    const { resources: _none, ...alone } = pod.spec;
    const givenWhole = { limits: { cpu: '1' } };
    expect(brief({ ...pod, spec: alone }, status, { given, givenWhole })).toEqual(nothing);
  });

  test('a limit of the pod as a whole restarts the containers that have none and restart for it', () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const pod = podOf({
      containers: [container('web', { resizePolicy })],
      resources: { limits: { memory: '2Gi' } },
    });
    const status = runtimePod([run(pod, 'web', 'running')]);
    const before = { given: () => ({}), givenWhole: { limits: { memory: '1Gi' } } };
    expect(brief(pod, status, before)).toEqual({ ...nothing, start: ['web'], kill: ['web-0'] });
  });

  test('an init container that runs gets what its pod was granted, and one that has ended is left alone', () => {
    const resources = { requests: { cpu: '2' } };
    const pod = podOf({
      initContainers: [container('one', { resources }), container('two', { resources })],
    });
    const status = runtimePod([run(pod, 'one', 'exited'), run(pod, 'two', 'running')]);
    const given = () => ({ requests: { cpu: '1' } });
    expect(brief(pod, status, { given })).toEqual({ ...nothing, resize: ['two-0'] });
  });

  test('with Never a failed probe kills for good', () => {
    const status = runtimePod([run(never, 'web', 'running')]);
    expect(brief(never, status, { probeFailure: failing('startup') })).toMatchObject({ start: [] });
  });
});

describe('containers for debugging', () => {
  const debugged = podOf({ ephemeralContainers: [container('look')] as never });
  const up = run(debugged, 'web', 'running');
  const looked = (state: 'running' | 'exited') =>
    ({ ...run(debugged, 'web', state), id: 'look-0', metadata: { name: 'look', attempt: 0 } }) as never;

  test.each<[string, RuntimePod, object]>([
    ['one that has not run is started beside what runs', runtimePod([up]), { ...nothing, debug: ['look'] }],
    ['one that runs is left alone', runtimePod([up, looked('running')]), nothing],
    ['one that has ended is never started again', runtimePod([up, looked('exited')]), nothing],
    [
      'a new sandbox comes first',
      emptyRuntimePod('u1'),
      { sandbox: 0, killPod: true, ...nothing, start: ['web'] },
    ],
  ])('%s', (_, status, expected) => {
    expect(brief(debugged, status)).toEqual(expected);
  });

  test('one that runs does not keep a pod that is done', () => {
    const done = podOf({ restartPolicy: 'Never', ephemeralContainers: [container('look')] as never });
    expect(brief(done, runtimePod([run(done, 'web', 'exited')]))).toEqual({ killPod: true, ...nothing });
  });
});
