import { describe, expect, test } from 'vitest';
import { FakeCgroups } from '../../../../src/kernel/cgroup/fake.js';
import { cgroupContract } from '../../../support/contracts/cgroup.js';

describe('the fake control groups', () => {
  cgroupContract(async () => {
    const port = new FakeCgroups();
    let pid = 1_000_000;
    return {
      port,
      place: async (path) => {
        port.place(path, ++pid);
        return pid;
      },
    };
  });

  test('tell what limits they were given', async () => {
    const port = new FakeCgroups();
    await port.create('/kubepods', { cpuShares: 1024 });
    await port.update('/kubepods', { pidsLimit: 10 });
    expect(port.resourcesOf('/kubepods')).toEqual({ cpuShares: 1024, pidsLimit: 10 });
  });
});
