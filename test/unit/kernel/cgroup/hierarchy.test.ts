import { describe, expect, test } from 'vitest';
import { parseHierarchies, versionOf } from '../../../../src/kernel/cgroup/hierarchy.js';
import { planWrites, sharesToWeight } from '../../../../src/kernel/cgroup/limits.js';

const V1 = `tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,nodev,noexec,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,release_agent=/lib/agent,name=systemd 0 0
cgroup /elsewhere/with\\040space cgroup rw,memory 0 0
`;
const V2 = 'cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate,memory_recursiveprot 0 0\n';

describe('where control groups are mounted', () => {
  test('each v1 hierarchy is found once, with its controllers', () => {
    expect(parseHierarchies(V1)).toEqual([
      { mountPoint: '/sys/fs/cgroup/cpu,cpuacct', kind: 'v1', controllers: ['cpu', 'cpuacct'] },
      { mountPoint: '/sys/fs/cgroup/memory', kind: 'v1', controllers: ['memory'] },
      { mountPoint: '/sys/fs/cgroup/systemd', kind: 'v1', controllers: ['name=systemd'] },
    ]);
  });

  test('a mount point with a space is read as the kernel writes it', () => {
    const line = 'cgroup /a\\040b cgroup rw,pids 0 0';
    expect(parseHierarchies(line)[0]?.mountPoint).toBe('/a b');
  });

  test.each([
    ['v1', V1],
    ['v2', V2],
    ['hybrid', V1 + V2],
    ['v2', `${V2}cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0`],
    [undefined, 'proc /proc proc rw 0 0\nbroken\n'],
  ])('the version is %s', (version, mounts) => {
    expect(versionOf(parseHierarchies(mounts))).toBe(version);
  });
});

describe('limits of control groups', () => {
  test.each([
    [0, 1],
    [2, 1],
    [1024, 39],
    [262_144, 10_000],
    [1_000_000, 10_000],
  ])('%i shares are a weight of %i', (shares, weight) => {
    expect(sharesToWeight(shares)).toBe(weight);
  });

  const all = { cpuShares: 1, cpuQuotaUs: 50_000, memoryLimitBytes: -1, pidsLimit: -1 };
  test('v1 gets a file a limit', () => {
    expect(planWrites({ ...all, cpuPeriodUs: 10_000 }, 'v1').map(({ file, text }) => [file, text])).toEqual([
      ['cpu.shares', '2'],
      ['cpu.cfs_period_us', '10000'],
      ['cpu.cfs_quota_us', '50000'],
      ['memory.limit_in_bytes', '-1'],
      ['pids.max', 'max'],
    ]);
  });

  test('v2 gets weight, and quota and period in one', () => {
    expect(planWrites(all, 'v2').map(({ file, text }) => [file, text])).toEqual([
      ['cpu.weight', '1'],
      ['cpu.max', '50000 100000'],
      ['memory.max', 'max'],
      ['pids.max', 'max'],
    ]);
    expect(planWrites({ cpuQuotaUs: -1 }, 'v2')[0]?.text).toBe('max 100000');
  });

  test('huge pages are limited by size, used and reserved, where there is such a controller', () => {
    const hugePageLimits = { '2MB': 4 << 20 };
    const of = (kind: 'v1' | 'v2') => planWrites({ hugePageLimits }, kind);
    expect(of('v1').map(({ file }) => file)).toEqual([
      'hugetlb.2MB.limit_in_bytes',
      'hugetlb.2MB.rsvd.limit_in_bytes',
    ]);
    expect(of('v2')).toEqual([
      { controller: 'hugetlb', file: 'hugetlb.2MB.max', text: '4194304', isOptional: true },
      { controller: 'hugetlb', file: 'hugetlb.2MB.rsvd.max', text: '4194304', isOptional: true },
    ]);
    expect(() => planWrites({ hugePageLimits: { '2MB': -2 } }, 'v2')).toThrow(/2MB/);
  });
});
