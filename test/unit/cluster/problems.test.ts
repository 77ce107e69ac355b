// What is said of a cluster that is not well, and what to do about it.
import { describe, expect, test } from 'vitest';
import { render } from '../../../src/cli/cluster/status.js';
import { nodeTroubles, podTrouble, problemsOf } from '../../../src/cluster/problems.js';
import type { ClusterStatus } from '../../../src/cluster/status.js';

const command = (...words: string[]) => ['trellis', ...words].join(' ');
const running = (name: string) => ({ name, pid: 7, residentBytes: 1_000_000 });
const well: ClusterStatus = {
  dataDir: '/d',
  exists: true,
  components: ['supervisor', 'containerd', 'server', 'agent', 'one-2'].map(running),
  nodes: [{ name: 'one', ready: true, message: '', troubles: [] }],
  pods: { running: 1, total: 1, troubled: [] },
};
const without = (...names: string[]) => ({
  ...well,
  components: well.components.map((one) => (names.includes(one.name) ? { name: one.name } : one)),
});
const said = (status: ClusterStatus) =>
  problemsOf(status, command).map(({ what, fix }) => `${what} | ${fix}`);

describe('what is wrong', () => {
  test('is nothing where all is well, or nothing was ever made', () => {
    expect(said(well)).toEqual([]);
    expect(said({ ...well, exists: false, components: [] })).toEqual([]);
  });

  test.each([
    ['nothing runs', { ...well, components: [] }, ['nothing of it runs | start it: trellis up --detach']],
    [
      'a node that joined does not run',
      { ...well, joined: 'https://s', components: [] },
      ['nothing of it runs | start it: trellis agent --detach'],
    ],
    [
      'a process died',
      without('agent'),
      ['agent does not run; the supervisor starts it again | if it stays so, see why: trellis logs agent'],
    ],
    [
      'a further node died',
      without('one-2'),
      [
        'one-2 does not run; the supervisor starts it again | if it stays so, see why: trellis logs one-2/agent',
      ],
    ],
    [
      'the supervisor died',
      without('supervisor', 'agent'),
      [
        expect.stringMatching(
          /nothing is started again \(not running: supervisor, agent\) \| .* pods go on: trellis up --detach/,
        ),
      ],
    ],
    [
      'the apiserver does not answer',
      { ...well, unreachable: 'refused' },
      ['the apiserver does not answer: refused | see why: trellis logs server'],
    ],
    [
      'a node waits for its certificate',
      { ...well, joined: 'https://s', isMember: false },
      [expect.stringMatching(/not been given its certificate yet \| is https:\/\/s reachable/)],
    ],
  ])('%s', (_, status, expected) => {
    expect(said(status)).toEqual(expected);
  });

  test('names what a node lacks', () => {
    const conditions = [
      { type: 'Ready', status: 'Unknown', message: 'Kubelet stopped posting node status.' },
      { type: 'DiskPressure', status: 'True', message: 'kubelet has disk pressure' },
      { type: 'MemoryPressure', status: 'False' },
    ];
    const troubles = nodeTroubles({ spec: { unschedulable: true }, status: { conditions } } as never);
    const node = { name: 'one-2', ready: false, message: '', troubles };
    expect(said({ ...well, nodes: [node] })).toEqual([
      expect.stringMatching(/^node one-2 is silent: Kubelet stopped .* \| .*trellis logs one-2\/agent$/),
      expect.stringMatching(
        /^node one-2 is short of disk space.* \| free some where its data is \(here \/d\)/,
      ),
      'node one-2 takes no new pods: it is cordoned | trellis kubectl uncordon one-2',
    ]);
    expect(
      nodeTroubles({ spec: {}, status: { conditions: [{ type: 'Ready', status: 'True' }] } } as never),
    ).toEqual([]);
  });

  test('leads to who knows more of a node that is not Ready', () => {
    const not = (message: string) => {
      const troubles = [{ condition: 'Ready', message } as const];
      return said({ ...well, nodes: [{ name: 'one', ready: false, message, troubles }] });
    };
    expect(not('PLEG is not healthy')).toEqual([
      'node one is not Ready: PLEG is not healthy | see trellis logs agent',
    ]);
    expect(not('container runtime is down')[0]).toMatch(/ \| see trellis logs containerd$/);
  });

  test('names pods that do not come to run, but not all of many', () => {
    const metadata = { namespace: 'n', name: 'p' };
    const waiting = { reason: 'ImagePullBackOff', message: 'no such image' };
    const stuck = podTrouble({ metadata, status: { containerStatuses: [{ state: { waiting } }] } } as never);
    expect(stuck?.why).toBe('ImagePullBackOff: no such image');
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' },
    ];
    expect(podTrouble({ metadata, status: { conditions } } as never)?.why).toBe(
      'no node takes it: 0/1 nodes',
    );
    const starting = [{ state: { waiting: { reason: 'ContainerCreating' } } }];
    expect(podTrouble({ metadata, status: { containerStatuses: starting } } as never)).toBeUndefined();
    const gone = { ...metadata, deletionTimestamp: 'now' };
    expect(podTrouble({ metadata: gone, status: { conditions } } as never)).toBeUndefined();
    const troubled = Array.from({ length: 7 }, (_, at) => ({ namespace: 'n', name: `p${at}`, why: 'x' }));
    const lines = said({ ...well, pods: { running: 0, total: 7, troubled } });
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe('pod n/p0: x | trellis kubectl -n n describe pod p0');
    expect(lines[5]).toBe('2 more pods do not run | trellis kubectl get pods -A');
  });

  test('is shown below what runs', () => {
    const status = without('agent');
    const text = render(status, problemsOf(status, command), command);
    expect(text).toContain('  agent        not running\n');
    expect(text).toMatch(/✗ agent does not run.*\n {4}if it stays so, see why: trellis logs agent\n$/);
  });
});
