import { expect, test } from 'vitest';
import { findGarbage } from '../../../src/kubelet/containerGC.js';
import { podOf, run, runtimePod, sandbox } from './support.js';

const pod = podOf();
const dead = (attempt: number) => run(pod, 'web', 'exited', { attempt });
const names = (pods: ReturnType<typeof runtimePod>[], isGone = false) => {
  const { containers, sandboxes } = findGarbage({ pods, isGone: () => isGone, keepPerContainer: 1 });
  return { containers: containers.map(({ id }) => id), sandboxes: sandboxes.map(({ id }) => id) };
};

test('of a living pod the last dead run of each container stays', () => {
  const alive = run(pod, 'web', 'running', { attempt: 3 });
  expect(names([runtimePod([alive, dead(2), dead(1), dead(0)])])).toEqual({
    containers: ['web-1', 'web-0'],
    sandboxes: [],
  });
});

test('of a pod that is gone all that is dead goes', () => {
  const old = sandbox({ state: 'SANDBOX_NOTREADY' });
  expect(names([runtimePod([dead(0)], [old])], true)).toEqual({
    containers: ['web-0'],
    sandboxes: ['sandbox-0'],
  });
});

test('what runs is never garbage', () => {
  expect(names([runtimePod([run(pod, 'web', 'running')])], true)).toEqual({ containers: [], sandboxes: [] });
});

test('the newest sandbox stays even when it is dead, since it numbers the next', () => {
  const sandboxes = [1, 0].map((attempt) => sandbox({ id: `s${attempt}`, state: 'SANDBOX_NOTREADY' }));
  expect(names([runtimePod([], sandboxes)])).toEqual({ containers: [], sandboxes: ['s0'] });
});

test('a dead sandbox stays with the dead run that stays', () => {
  const sandboxes = [sandbox({ id: 's1' }), sandbox({ id: 's0', state: 'SANDBOX_NOTREADY' })];
  const alive = run(pod, 'web', 'running', { attempt: 1, sandboxId: 's1' });
  const before = run(pod, 'web', 'exited', { sandboxId: 's0' });
  expect(names([runtimePod([alive, before], sandboxes)])).toEqual({ containers: [], sandboxes: [] });
  const ended = run(pod, 'web', 'exited', { attempt: 1, sandboxId: 's1' });
  const next = run(pod, 'web', 'running', { attempt: 2, sandboxId: 's1' });
  expect(names([runtimePod([next, ended, before], sandboxes)])).toEqual({
    containers: ['web-0'],
    sandboxes: ['s0'],
  });
});

test('a run that is about to start takes no place of the one before it', () => {
  const next = run(pod, 'web', 'created', { attempt: 1 });
  expect(names([runtimePod([next, dead(0)])]).containers).toEqual([]);
  expect(names([runtimePod([next, dead(0)])], true).containers).toEqual(['web-1', 'web-0']);
});

test('one that never started goes once another has followed it', () => {
  const stale = run(pod, 'web', 'created', { attempt: 0 });
  expect(names([runtimePod([run(pod, 'web', 'running', { attempt: 1 }), stale])]).containers).toEqual([
    'web-0',
  ]);
});
