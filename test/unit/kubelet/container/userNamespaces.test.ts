// Users of pods: ranges that never meet, and how the runtime is told of them.
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { containerConfig } from '../../../../src/kubelet/container/containerConfig.js';
import { sandboxConfig } from '../../../../src/kubelet/container/sandboxConfig.js';
import { UserNamespaces } from '../../../../src/kubelet/container/userNamespaces.js';
import { container, podOf } from '../support.js';

let rootDir: string;
const onDisk: string[] = [];
const open = (maxPods = 3) => new UserNamespaces({ rootDir, maxPods, podsOnDisk: async () => onDisk });
beforeEach(() => {
  rootDir = mkdtempSync(path.join(tmpdir(), 'trellis-users-'));
  onDisk.splice(0, onDisk.length, 'a', 'b', 'c', 'd');
  for (const uid of onDisk) mkdirSync(path.join(rootDir, 'pods', uid), { recursive: true });
});
afterEach(() => rmSync(rootDir, { recursive: true }));

test('each pod has a range, keeps it, and leaves it to the next', async () => {
  const users = open();
  const range = (number: number) => ({ hostId: number * 65_536, containerId: 0, length: 65_536 });
  expect(await users.rangeOf('a')).toEqual(range(1));
  expect(await users.rangeOf('b')).toEqual(range(2));
  expect(await users.rangeOf('a')).toEqual(range(1));
  users.forget('a');
  expect(await users.rangeOf('c')).toEqual(range(1));
});

test('a kubelet that begins anew knows what its predecessor gave', async () => {
  const [first, second] = [await open().rangeOf('c'), open()];
  const other = await second.rangeOf('a');
  expect(other.hostId).not.toBe(first.hostId);
  expect(await second.rangeOf('c')).toEqual(first);
});

test.each(['', '{"uidMappings":[{"hostId":65', '{}', '{"uidMappings":[{"hostId":"x"}]}'])(
  'a record %j stops no pod',
  async (text) => {
    writeFileSync(path.join(rootDir, 'pods', 'b', 'userns'), text);
    const users = open();
    expect((await users.rangeOf('a')).hostId).toBe(65_536);
    expect((await users.rangeOf('b')).hostId).toBe(2 * 65_536);
    expect(await open().rangeOf('b')).toEqual(await users.rangeOf('b'));
  },
);

test('a disk that could not be read once is read again', async () => {
  let isBroken = true;
  const podsOnDisk = async () => {
    if (isBroken) throw new Error('EIO');
    return onDisk;
  };
  const users = new UserNamespaces({ rootDir, maxPods: 3, podsOnDisk });
  await expect(users.rangeOf('a')).rejects.toThrow('EIO');
  isBroken = false;
  expect((await users.rangeOf('a')).hostId).toBe(65_536);
});

test('more pods than ranges are refused', async () => {
  const users = open(2);
  await Promise.all([users.rangeOf('a'), users.rangeOf('b')]);
  await expect(users.rangeOf('c')).rejects.toThrow('no range of user ids is left');
});

test('the sandbox, the container and its mounts carry the range; other pods carry none', () => {
  const pod = podOf({ hostUsers: false });
  const ids = { hostId: 65_536, containerId: 0, length: 65_536 };
  const machine = { cpuCFSQuota: true };
  const around = { attempt: 0, podLogsDir: '/l', cgroupParent: '', clusterDomain: '', machine };
  const dns = { servers: [], searches: [], options: [] };
  const users = { usernsOptions: { mode: 'POD', uids: [ids], gids: [ids] } };
  expect(sandboxConfig(pod, { ...around, dns, ids }).linux.securityContext.namespaceOptions).toMatchObject(
    users,
  );
  const parts = {
    pod,
    container: container('web'),
    restartCount: 0,
    imageRef: 'i',
    image: undefined,
    envs: [],
    machine: { memoryCapacity: 1, cpuCFSQuota: true, hugePageSizes: [] },
    seccompRoot: '/s',
    mounts: [{ containerPath: '/a', hostPath: '/b', readonly: false }],
  };
  const config = containerConfig({ ...parts, ids });
  expect(config.linux.securityContext.namespaceOptions).toMatchObject(users);
  expect(config.mounts).toMatchObject([{ hostPath: '/b', uidMappings: [ids], gidMappings: [ids] }]);
  expect(JSON.stringify([sandboxConfig(pod, { ...around, dns }), containerConfig(parts)])).not.toMatch(
    /userns|[ug]idMappings/,
  );
});

test('a record takes the place of the one before as a whole', async () => {
  const users = open();
  await users.rangeOf('a');
  const record = path.join(rootDir, 'pods', 'a', 'userns');
  const before = path.join(rootDir, 'before');
  linkSync(record, before);
  const text = readFileSync(before, 'utf8');
  // Written in place it would also show by its other name.
  writeFileSync(before, `${text} `);
  await users.rangeOf('a');
  expect([readFileSync(record, 'utf8'), readFileSync(before, 'utf8')]).toEqual([text, `${text} `]);
});
