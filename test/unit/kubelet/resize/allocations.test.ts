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
    expect(allocations.deferred()).toEqual(['u1']);
    expect(allocations.resize(asking('9'), others, crowded)).toMatchObject({ reason: 'Infeasible' });
    expect(allocations.deferred()).toEqual([]);
    expect(cpuOf(allocations.of(asking('9')))).toBe('1');
    expect(allocations.resize(asking('1'), others, crowded)).toBe('unchanged');
    expect(allocations.pending('u1')).toBeUndefined();
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
