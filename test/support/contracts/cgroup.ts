// What CgroupPort promises, as tests that the fake and the real kernel both pass.
// Guarantees: every group made here is below one root, which is gone after each test.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CgroupPort } from '../../../src/kernel/cgroup/port.js';

interface CgroupUnderTest {
  readonly port: CgroupPort;
  /** Puts a process that lives until it is killed into the group and answers its number. */
  place(path: string): Promise<number>;
}

export function cgroupContract(open: () => Promise<CgroupUnderTest>): void {
  const root = `/trellis-test-${process.pid}`;
  let under: CgroupUnderTest;
  let port: CgroupPort;
  beforeEach(async () => {
    under = await open();
    port = under.port;
  });
  afterEach(async () => {
    await port.kill(root);
    await port.remove(root);
    expect(await port.children(root)).toEqual([]);
  });

  test('a group is made with those above it, and made again without harm', async () => {
    for (const _ of [1, 2]) await port.create(`${root}/burstable/pod1`, { cpuShares: 512 });
    await port.create(`${root}/besteffort`);
    expect(await port.children(root)).toEqual(['besteffort', 'burstable']);
    expect(await port.children(`${root}/burstable`)).toEqual(['pod1']);
    expect(await port.children(`${root}/none`)).toEqual([]);
  });

  test('processes are found in a group and below it', async () => {
    await port.create(`${root}/pod1/main`);
    expect(await port.pids(root)).toEqual([]);
    const pid = await under.place(`${root}/pod1/main`);
    expect(await port.pids(root)).toEqual([pid]);
    expect(await port.pids(`${root}/pod1/main`)).toEqual([pid]);
    expect(await port.pids(`${root}/pod2`)).toEqual([]);
  });

  test('a group with processes is not removed before they are killed', async () => {
    await port.create(`${root}/pod1/main`);
    await under.place(`${root}/pod1/main`);
    await under.place(`${root}/pod1/main`);
    await expect(port.remove(`${root}/pod1`)).rejects.toMatchObject({ name: 'KernelError', code: 'EBUSY' });
    await port.kill(`${root}/pod1`);
    expect(await port.pids(root)).toEqual([]);
    await port.remove(`${root}/pod1`);
    expect(await port.children(root)).toEqual([]);
  });

  test('killing and removing what is gone is success', async () => {
    await port.kill(`${root}/none`);
    await port.remove(`${root}/none`);
  });

  test('limits of a group that is not there are refused', async () => {
    await expect(port.update(`${root}/none`, { cpuShares: 2 })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test.each(['', '/', 'kubepods', '/a/../b', '/a//b', '/a/', '/a/.', '/a\0b', '/cgroup.procs'])(
    'the path %j is refused',
    async (path) => {
      await expect(port.create(path)).rejects.toMatchObject({ code: 'INVALID' });
      await expect(port.kill(path)).rejects.toMatchObject({ code: 'INVALID' });
      await expect(port.remove(path)).rejects.toMatchObject({ code: 'INVALID' });
    },
  );

  test.each([Number.NaN, 1.5, -2])('a limit of %j is refused', async (memoryLimitBytes) => {
    await expect(port.create(root, { memoryLimitBytes })).rejects.toMatchObject({ code: 'INVALID' });
  });
}
