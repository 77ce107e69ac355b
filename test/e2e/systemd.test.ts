// A control plane and a node as services of a real systemd on two hosts: installed, joined, restarted and taken away.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeNetNs, type TestNetNs } from '../support/netns.js';
import { describeWith } from '../support/requires.js';
import { SystemdMachine } from '../support/systemdMachine.js';
import { eventually } from '../support/testCluster.js';

const NEEDS = {
  root: true,
  tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter', 'systemctl', 'journalctl'],
  files: ['/usr/lib/systemd/systemd'],
};
const SERVE = ['--', 'httpd', '-f', '-p', '8080', '-h', '/etc'];
const PODS =
  'jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[*].containerID}{"\\n"}{end}';

describeWith(NEEDS, 'services of systemd', () => {
  const networks: TestNetNs[] = [];
  const machines: SystemdMachine[] = [];
  let server: SystemdMachine;
  let node: SystemdMachine;

  beforeAll(async () => {
    networks.push(await makeNetNs(), await makeNetNs());
    const [one, two] = networks as [TestNetNs, TestNetNs];
    await one.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', two.path);
    for (const [at, network] of networks.entries())
      for (const words of [
        ['link', 'set', 'lo', 'up'],
        ['link', 'set', 'eth0', 'up'],
        ['address', 'add', `192.168.98.${at + 1}/24`, 'dev', 'eth0'],
        ['route', 'add', 'default', 'via', '192.168.98.254'],
      ])
        await network.run('ip', ...words);
    machines.push(await SystemdMachine.start(one, 'first'), await SystemdMachine.start(two, 'second'));
    [server, node] = machines as [SystemdMachine, SystemdMachine];
  });
  afterAll(async () => {
    for (const machine of machines) await machine.stop();
    for (const network of networks) await network.remove();
  });

  const kubectl = async (...words: string[]) => {
    const answer = await server.trellis('kubectl', ...words);
    if (answer.code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${answer.stderr}${answer.stdout}`);
    return answer.stdout;
  };
  const becomesHealthy = async (machine: SystemdMachine) => {
    const ask = () => machine.trellis('status');
    await eventually(ask, ({ code }) => code === 0, 90_000).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await machine.journal()}`);
    });
  };
  const isActive = async (machine: SystemdMachine, unit: string) =>
    (await machine.run('systemctl', 'is-active', unit)).stdout.trim();
  const webProcesses = async () => (await node.run('pgrep', '-f', 'httpd -f -p 8080')).stdout;
  const runningPods = () =>
    eventually(
      () => kubectl('get', 'pods', '-o', PODS, '--sort-by=.metadata.name'),
      (text) => text.match(/containerd:/g)?.length === 2,
    );

  test('run a control plane behind its fence', async () => {
    expect(await server.trellis('install', 'server')).toMatchObject({ code: 0, stderr: '' });
    await becomesHealthy(server);
    expect(await isActive(server, 'trellis-server')).toBe('active');
    const fence = await server.run(
      'systemctl',
      'show',
      'trellis-server',
      '-p',
      'ProtectSystem,RestrictNamespaces',
    );
    expect(fence.stdout).toContain('ProtectSystem=strict');
  });

  test('make a machine a node by a token that is in no unit', async () => {
    // One that could never start is not installed.
    expect(await node.trellis('install', 'agent')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has not joined a cluster yet; give --server and a token'),
    });
    const { stdout } = await server.trellis('token', 'create', '--print-join-command');
    const [, , ...words] = stdout.trim().split(' ');
    expect(await node.trellis('install', 'agent', ...words)).toMatchObject({ code: 0, stderr: '' });
    await becomesHealthy(node);
    expect(await kubectl('get', 'nodes', '--no-headers')).toMatch(/^second +Ready /);
    const [, token = ''] = /--token (\S+)/.exec(stdout) ?? [];
    const unit = await node.run('systemctl', 'cat', 'trellis-agent');
    expect(unit.stdout).toContain('--server https://192.168.98.1:6443');
    expect(unit.stdout).not.toContain(token);
  });

  test('are restarted without a pod noticing', async () => {
    await kubectl('create', 'deployment', 'web', '--image=trellis.local/busybox', '--replicas=2', ...SERVE);
    const pods = await runningPods();
    const processes = await webProcesses();
    expect(processes.trim().split('\n')).toHaveLength(2);
    expect(await node.run('systemctl', 'restart', 'trellis-agent')).toMatchObject({ code: 0 });
    expect(await webProcesses()).toBe(processes);
    // A service that dies comes back by itself, and so does what it runs.
    await eventually(
      async () => (await node.trellis('status')).code,
      (code) => code === 0,
    );
    const main = (await node.run('systemctl', 'show', '-P', 'MainPID', 'trellis-agent')).stdout.trim();
    await node.run('kill', '-KILL', main);
    await eventually(
      () => node.run('systemctl', 'show', '-P', 'MainPID', 'trellis-agent'),
      ({ stdout }) => !['0', main].includes(stdout.trim()),
    );
    await becomesHealthy(node);
    expect(await webProcesses()).toBe(processes);
    expect(await runningPods()).toBe(pods);
  });

  test('are taken away, and after "trellis down" nothing is left', async () => {
    expect(await node.trellis('install', '--remove')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: 'Removed trellis-agent.service.\n',
    });
    // Pods are for "down" to end.
    expect(await webProcesses()).not.toBe('');
    expect(await node.trellis('down', '--purge')).toMatchObject({ code: 0, stderr: '' });
    const left = await node.run(
      'sh',
      '-c',
      'ps -e -o args=; ip -o link; nft list ruleset; ls /run /etc/systemd/system',
    );
    expect(
      left.stdout.split('\n').filter((line) => /trellis|containerd|httpd|trl-|trx-|veth/.test(line)),
    ).toEqual([]);
    expect((await node.run('find', '/sys/fs/cgroup', '-name', 'trellis*')).stdout).toBe('');
    expect(
      (await node.run('systemctl', 'list-units', '--all', '--plain', '--no-legend', 'trellis*')).stdout,
    ).toBe('');
    expect(await server.trellis('install', '--remove', 'server')).toMatchObject({ code: 0, stderr: '' });
    expect(await isActive(server, 'trellis-server')).toBe('inactive');
  });
});
