import { describe, expect, test } from 'vitest';
import type { V1ResourceRequirements } from '../../../../src/api/gen/types.js';
import { Allocations, type Shortage } from '../../../../src/kubelet/resize/allocations.js';
import { container, podOf } from '../support.js';

const asking = (cpu: string) =>
  podOf({ containers: [container('web', { resources: { requests: { cpu } } })] });
const cpuOf = ({ spec }: ReturnType<typeof podOf>) => spec.containers[0]?.resources?.requests?.['cpu'];
const fits: Shortage = () => undefined;
/** A node of four cores of which others hold two. */
const crowded: Shortage = (pod, others) => {
  const wanted = Number(cpuOf(pod));
  const limit = others.length === 0 ? 4 : 2;
  return wanted > limit ? { reason: 'OutOfcpu', message: `only ${limit} left` } : undefined;
};
/** A node that has no room beside others. */
const full: Shortage = (_, others) =>
  others.length === 0 ? undefined : { reason: 'OutOfcpu', message: 'none left' };
const waiting = (uid: string, resources: V1ResourceRequirements, priority = 0) => {
  const pod = podOf({ containers: [container('web', { resources })], priority });
  return { ...pod, metadata: { ...pod.metadata, uid } };
};

describe('what a node has promised', () => {
  test('a pod keeps what it was granted until the node grants more', () => {
    const allocations = new Allocations();
    allocations.take(asking('1'));
    expect(cpuOf(allocations.of(asking('2')))).toBe('1');
    expect(allocations.resize(asking('2'), [], fits)).toBe('granted');
    expect(cpuOf(allocations.of(asking('2')))).toBe('2');
    expect(allocations.resize(asking('2000m'), [], fits)).toBe('unchanged');
  });

  test('what others hold is deferred; what the node never has is infeasible; asking for less again ends both', () => {
    const allocations = new Allocations();
    const others = [podOf()];
    allocations.take(asking('1'));
    expect(allocations.resize(asking('3'), others, crowded)).toEqual({
      reason: 'Deferred',
      message: 'only 2 left',
    });
    expect(allocations.deferred(() => asking('3'))).toEqual([asking('3')]);
    expect(allocations.resize(asking('9'), others, crowded)).toMatchObject({ reason: 'Infeasible' });
    expect(allocations.deferred(() => asking('9'))).toEqual([]);
    expect(cpuOf(allocations.of(asking('9')))).toBe('1');
    expect(allocations.resize(asking('1'), others, crowded)).toBe('unchanged');
    expect(allocations.pending('u1')).toBeUndefined();
  });

  test('what a pod asks for as a whole for the first time waits until the node grants it, also after a restart', () => {
    const before = podOf();
    const pod = podOf({ resources: { requests: { cpu: '3' } } });
    const allocations = new Allocations();
    allocations.take(before);
    expect(allocations.of(pod).spec.resources).toBeUndefined();
    expect(allocations.resize(pod, [before], full)).toMatchObject({ reason: 'Deferred' });
    const restarted = new Allocations();
    restarted.take({ ...pod, status: { resources: {} } });
    expect(restarted.of(pod).spec.resources).toBeUndefined();
    expect(restarted.resize(pod, [before], fits)).toBe('granted');
    expect(restarted.of(pod)).toBe(pod);
  });

  test('those that wait are tried again by priority, guaranteed ones before others, and who has waited longest first', () => {
    const pods = [
      waiting('late', { requests: { cpu: '3' } }),
      waiting('guaranteed', { limits: { cpu: '3', memory: '1Gi' }, requests: { cpu: '3', memory: '1Gi' } }),
      waiting('important', { requests: { cpu: '3' } }, 1000),
      waiting('later', { requests: { cpu: '3' } }),
      waiting('no more than before', { requests: { cpu: '1' }, limits: { cpu: '3' } }),
    ];
    const allocations = new Allocations();
    for (const pod of pods) {
      const resources = { requests: { cpu: '1', memory: '1Gi' } };
      allocations.take({ ...pod, spec: { ...pod.spec, containers: [container('web', { resources })] } });
      allocations.resize(pod, [podOf()], full);
    }
    const podNamed = (uid: string) => pods.find(({ metadata }) => metadata.uid === uid);
    expect(allocations.deferred(podNamed).map(({ metadata }) => metadata.uid)).toEqual([
      'no more than before',
      'important',
      'guaranteed',
      'late',
      'later',
    ]);
    expect(allocations.deferred(() => undefined)).toEqual([]);
  });

  test('after a restart of the kubelet the status says what was granted', () => {
    const resources: V1ResourceRequirements = { requests: { cpu: '1' }, limits: { cpu: '4' } };
    const pod = {
      ...asking('3'),
      status: {
        containerStatuses: [
          {
            name: 'web',
            image: '',
            imageID: '',
            ready: true,
            restartCount: 0,
            resources,
            allocatedResources: { cpu: '2' },
          },
        ],
      },
    };
    const allocations = new Allocations();
    allocations.take(pod);
    expect(allocations.of(pod).spec.containers[0]?.resources).toEqual({
      requests: { cpu: '2' },
      limits: { cpu: '4' },
    });
  });

  test('a pod that is gone is forgotten', () => {
    const allocations = new Allocations();
    allocations.take(asking('1'));
    allocations.resize(asking('3'), [podOf()], crowded);
    allocations.forget('u1');
    expect(allocations.pending('u1')).toBeUndefined();
    expect(cpuOf(allocations.of(asking('3')))).toBe('3');
  });
});
