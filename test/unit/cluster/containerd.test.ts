import { describe, expect, test } from 'vitest';
import { containerdConfig, registryHosts } from '../../../src/cluster/containerd/config.js';
import { hasSysResource } from '../../../src/cluster/containerd/machine.js';
import {
  descendantsOf,
  isDaemonOf,
  isShimOf,
  parentOf,
  readProcesses,
} from '../../../src/cluster/containerd/processes.js';
import { killRemains, parseGroups, parseShimSocket } from '../../../src/cluster/containerd/remains.js';

const config = containerdConfig({
  root: '/var/lib/trellis/containerd',
  state: '/run/trellis/containerd',
  socketPath: '/run/trellis/containerd.sock',
  sandboxImage: 'trellis.local/pause:latest',
  cniBinDir: '/opt/"odd" bin',
  cniConfDir: '/etc/cni/net.d',
  registryConfigDir: '/var/lib/trellis/certs.d',
  snapshotter: 'native',
  architecture: 'arm64',
  restrictOomScoreAdj: true,
  disableApparmor: false,
  disableHugetlb: false,
});

describe('the configuration of containerd', () => {
  test.each([
    'version = 2',
    'root = "/var/lib/trellis/containerd"',
    '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]\nSystemdCgroup = false\nRoot = "/run/trellis/containerd/runc"',
    'sandbox_image = "trellis.local/pause:latest"',
    'stream_server_port = "0"',
    'restrict_oom_score_adj = true',
    'disable_apparmor = false',
    'bin_dir = "/opt/\\"odd\\" bin"',
    'config_path = "/var/lib/trellis/certs.d"',
    '[[plugins."io.containerd.transfer.v1.local".unpack_config]]\nplatform = "linux/arm64"\nsnapshotter = "native"',
  ])('says %s', (line) => {
    expect(config).toContain(line);
  });

  test('sends a registry’s name to this machine', () => {
    const settings = 'capabilities = ["pull","resolve"]\nca = "/ca.crt"\n';
    expect(registryHosts({ port: 5443, caFile: '/ca.crt' })).toBe(
      `server = "https://127.0.0.1:5443"\n${settings}\n[host."https://127.0.0.1:5443"]\n${settings}`,
    );
  });
});

describe('what the machine allows', () => {
  test.each([
    ['CapEff:\t000001ffffffffff\n', true],
    ['Name:\tx\nCapEff:\t000001fffeffffff\nCapBnd:\t0\n', false],
    ['nonsense', false],
  ])('the capability to lower oom_score_adj is read', (status, has) => {
    expect(hasSysResource(status)).toBe(has);
  });
});

describe('what containerd left', () => {
  const socket = '/run/trellis/containerd.sock';
  const shim = (address: string) => ({
    pid: 10,
    parent: 1,
    argv: ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'k8s.io', '-id', 'a', '-address', address],
  });

  test('a shim is ours by our socket alone', () => {
    expect(isShimOf(shim(socket), socket)).toBe(true);
    expect(isShimOf(shim('/run/containerd/containerd.sock'), socket)).toBe(false);
    expect(isShimOf({ pid: 1, parent: 0, argv: ['vim', '-address', socket] }, socket)).toBe(false);
    expect(isShimOf({ pid: 1, parent: 0, argv: [] }, socket)).toBe(false);
  });

  test.each([
    [['containerd', '--config', '/c.toml'], true],
    [['/usr/bin/containerd', '-c', '/c.toml'], true],
    [['containerd', '--config=/c.toml'], true],
    [['containerd'], false],
    [['sh', '--config', '/c.toml'], false],
  ])('%j is the daemon of our configuration: %s', (argv, is) => {
    expect(isDaemonOf({ pid: 1, parent: 0, argv }, '/c.toml')).toBe(is);
  });

  test('descendants are found at any depth, and a loop of parents ends', () => {
    const one = (pid: number, parent: number) => ({ pid, parent, argv: [] });
    const all = [one(1, 0), one(10, 1), one(11, 10), one(12, 11), one(20, 1), one(30, 31), one(31, 30)];
    expect(descendantsOf(all, [10]).map(({ pid }) => pid)).toEqual([11, 12]);
    expect(descendantsOf(all, [30]).map(({ pid }) => pid)).toEqual([31]);
  });

  test('the parent is read past a name with brackets', () => {
    expect(parentOf('7 (a) b (c) S 5 7 7 0')).toBe(5);
  });

  test('this process is among those of the machine', async () => {
    expect((await readProcesses()).find(({ pid }) => pid === process.pid)?.parent).toBe(process.ppid);
  });

  test('of runc’s state only the container’s own control groups count', () => {
    const cgroup_paths = {
      cpu: '/sys/fs/cgroup/cpu/kubepods/pod1/abc',
      memory: '/sys/fs/cgroup/memory/kubepods/pod1',
      pids: '/sys/fs/cgroup/pids/../../abc',
      other: '/abc',
      number: 3,
    };
    expect(parseGroups(JSON.stringify({ cgroup_paths }), 'abc')).toEqual([cgroup_paths.cpu]);
    expect(parseGroups('{"cgroup_', 'abc')).toEqual([]);
    expect(parseGroups('{}', 'abc')).toEqual([]);
  });

  test.each([
    ['unix:///run/containerd/s/0a9f', '/run/containerd/s/0a9f'],
    ['unix:///run/containerd/s/0a9f\n', '/run/containerd/s/0a9f'],
    ['{"version":3,"address":"unix:///run/containerd/s/0a9f","protocol":"ttrpc"}', '/run/containerd/s/0a9f'],
    ['{"version":3,"address":"unix:///run/containerd/s/../../x"}', undefined],
    ['unix:///etc/passwd', undefined],
    ['', undefined],
  ])('where a shim listens is read from %j', (text, socket) => {
    expect(parseShimSocket(text)).toBe(socket);
  });

  test('nothing is found where nothing was left, and the whole machine is refused', async () => {
    const nowhere = { root: '/nowhere/root', state: '/nowhere/state', socketPath: '/nowhere/socket' };
    expect(await killRemains(nowhere)).toEqual({ killed: [], unmounted: [] });
    await expect(killRemains({ ...nowhere, root: '/' })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    await expect(killRemains({ ...nowhere, state: 'state' })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });
});
