// The judgements that doctor's tables make of files in /proc and /sys.
// Guarantees: v1, v2 and hybrid control groups, numbers at the edge and version order are judged right.
import { describe, expect, test } from 'vitest';
import { atLeast, sysctlPath } from '../../../src/doctor/checks/build.js';
import { judgeController, judgeLayout } from '../../../src/doctor/checks/cgroups.js';
import { judgeCapability, judgeKernelVersion } from '../../../src/doctor/checks/host.js';
import { readOpenFiles } from '../../../src/doctor/checks/limits.js';
import { judgeForwardPolicy } from '../../../src/doctor/checks/netfilter.js';

const v1Memory = '30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory';
const v1Joined =
  '31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct';
const v2 = '32 25 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate';
const root = '25 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw';

describe('control groups', () => {
  test.each([
    ['v1', [root, v1Memory, v1Joined], { state: 'present', found: 'v1' }],
    ['v2', [root, v2], { state: 'present', found: 'v2' }],
    ['hybrid', [root, v1Memory, v2], { state: 'present', found: 'v1 and v2 (hybrid)' }],
    ['none', [root], { state: 'missing', found: 'nothing mounted' }],
  ])('the layout is %s', (_, lines, expected) => {
    expect(judgeLayout(lines.join('\n'))).toEqual(expected);
  });

  test.each([
    ['a v1 mount of its own', { v1: 'memory', v2: 'memory' }, v1Memory, 'present'],
    ['a v1 mount shared by two', { v1: 'cpuacct', v2: null }, v1Joined, 'present'],
    ['no v1 mount', { v1: 'pids', v2: 'pids' }, v1Memory, 'missing'],
    ['nothing mounted at all', { v1: 'freezer', v2: null }, root, 'missing'],
    [
      'listed by v2 under its other name',
      { v1: 'blkio', v2: 'io' },
      'cpuset cpu io memory pids\n',
      'present',
    ],
    ['not listed by v2', { v1: 'hugetlb', v2: 'hugetlb' }, 'cpu io memory\n', 'missing'],
    ['not a v2 controller, yet part of v2', { v1: 'freezer', v2: null }, 'cpu io\n', 'present'],
  ])('a controller: %s', (_, row, text, state) => {
    expect(judgeController(row)(text).state).toBe(state);
  });
});

test.each([
  ['512\n', 'present'],
  ['511\n', 'low'],
  ['9223372036854775807', 'present'],
  ['', 'unknown'],
  ['max', 'unknown'],
])('a limit of 512 against %j', (text, state) => {
  expect(atLeast(512)(text).state).toBe(state);
});

test.each([
  ['6.18.44-fc', 'present'],
  ['5.10.0-30-amd64', 'present'],
  ['5.9.16', 'low'],
  ['4.19.0', 'low'],
])('the kernel %s', (release, state) => {
  expect(judgeKernelVersion(`${release}\n`).state).toBe(state);
});

test('a capability is one bit of the effective set', () => {
  const status = 'CapPrm:\t000001ffffffffff\nCapEff:\t000001fffeffffff\n';
  expect(judgeCapability(24)(status).state).toBe('missing');
  expect(judgeCapability(40)(status).state).toBe('present');
  expect(judgeCapability(0)('CapPrm:\t1').state).toBe('unknown');
});

test('the hard limit of open files is read, whatever the soft one is', () => {
  const line = (hard: string) =>
    `Limit  Soft  Hard  Units\nMax open files            1024                 ${hard}  files\n`;
  expect(readOpenFiles(line('524288'))).toBe(524288);
  expect(readOpenFiles(line('unlimited'))).toBe(Number.POSITIVE_INFINITY);
});

test('the policy of FORWARD is that of the table filter', () => {
  const saved = (policy: string) =>
    `*mangle\n:FORWARD ACCEPT [0:0]\nCOMMIT\n*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ${policy} [7:9]\nCOMMIT\n`;
  expect(judgeForwardPolicy(saved('DROP'))).toMatchObject({ found: expect.stringMatching(/^DROP; /) });
  expect(judgeForwardPolicy(saved('ACCEPT'))).toEqual({ state: 'present', found: 'ACCEPT' });
  expect(judgeForwardPolicy('*mangle\n:FORWARD DROP [0:0]\nCOMMIT\n').found).toBe('ACCEPT');
});

test('a sysctl name becomes a path', () => {
  expect(sysctlPath('net.bridge.bridge-nf-call-iptables')).toBe(
    '/proc/sys/net/bridge/bridge-nf-call-iptables',
  );
});
