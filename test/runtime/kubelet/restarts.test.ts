// What is run again and what is not: policies of restart, init containers that fail, and the words for it.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';

describeWith(NEEDS, 'what is run again', () => {
  let pods: PodNode;
  const volumeMounts = [{ name: 'seen', mountPath: '/seen' }];
  const seen = () => ({ volumes: [{ name: 'seen', hostPath: { path: pods.at('') } }] });
  const noting = (file: string, more: string) =>
    shell(`echo run >> /seen/${file}; ${more}`, { volumeMounts });
  const runs = (file: string) => readFileSync(pods.at(file), 'utf8').trimEnd().split('\n').length;
  const restarts = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0]?.restartCount ?? 0;

  beforeAll(async () => {
    pods = await PodNode.start();
  });
  afterAll(() => pods?.stop());

  test('by policy: always, after a failure, never', async () => {
    await pods.create('always', { ...seen(), containers: [noting('always', 'exit 0')] });
    await pods.create('failed', {
      ...seen(),
      restartPolicy: 'OnFailure',
      containers: [noting('failed', 'busybox test $(busybox wc -l < /seen/failed) -gt 1')],
    });
    await pods.create('never', {
      ...seen(),
      restartPolicy: 'Never',
      containers: [noting('never', 'exit 5')],
    });
    const always = await pods.until('run again', 'always', (pod) => restarts(pod) > 0);
    expect(always.status.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
    });
    expect(runs('always')).toBeGreaterThan(1);
    const failed = await pods.ended('failed');
    expect([failed.status.phase, restarts(failed), runs('failed')]).toEqual(['Succeeded', 1, 2]);
    const never = await pods.ended('never');
    expect([never.status.phase, restarts(never), runs('never')]).toEqual(['Failed', 0, 1]);
    expect(never.status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(5);
    await pods.drop('always', 'failed', 'never');
  });

  test('what crashes waits in back-off, and says so', async () => {
    await pods.create('crash', { containers: [shell('exit 3')] });
    const { metadata } = await pods.until('run again', 'crash', (pod) => restarts(pod) > 0);
    const name = `crash_default(${metadata.uid})`;
    expect(await pods.waiting('crash', /^CrashLoopBackOff$/)).toEqual({
      reason: 'CrashLoopBackOff',
      message: expect.stringMatching(/^back-off \d+s restarting failed container=main pod=crash_default\(/),
    });
    expect(await pods.event('crash', ({ reason }) => reason === 'BackOff')).toMatchObject({
      type: 'Warning',
      message: `Back-off restarting failed container main in pod ${name}`,
      involvedObject: { fieldPath: 'spec.containers{main}' },
    });
    await pods.drop('crash');
  });

  test('an init container that fails ends the pod, or is tried again, and the others wait', async () => {
    const failing = (file: string) => ({ ...noting(file, 'exit 4'), name: 'prepare' });
    const main = [shell(`echo run >> /seen/main; ${SLEEP}`, { volumeMounts })];
    await pods.create('over', {
      ...seen(),
      restartPolicy: 'Never',
      initContainers: [failing('once')],
      containers: main,
    });
    await pods.create('again', { ...seen(), initContainers: [failing('often')], containers: main });
    const over = await pods.ended('over');
    expect(over.status).toMatchObject({
      phase: 'Failed',
      initContainerStatuses: [{ restartCount: 0, state: { terminated: { exitCode: 4 } } }],
      containerStatuses: [{ state: { waiting: { reason: 'PodInitializing' } } }],
    });
    const again = await pods.until(
      'in back-off',
      'again',
      ({ status }) => status.initContainerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(again.status).toMatchObject({
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'PodInitializing' } } }],
    });
    const initialized = again.status.conditions?.find(({ type }) => type === 'Initialized');
    expect(initialized).toMatchObject({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [prepare]',
    });
    expect(() => runs('main')).toThrow('ENOENT');
    expect([runs('once'), runs('often') > 1]).toEqual([1, true]);
    await pods.drop('over', 'again');
  });
});
