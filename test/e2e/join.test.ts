// A second host joins by a token, as an administrator would type it: real containerd on both, stock kubectl.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SERVER_CAPABILITIES } from '../../src/cluster/systemd.js';
import { describeWith } from '../support/requires.js';
import { SecondHost } from '../support/secondHost.js';
import { eventually, TestCluster } from '../support/testCluster.js';

/** A busy machine may take its time. */
const DETACHED = ['--detach', '--timeout', '110'];
const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter'] };

const pod = (name: string, nodeName: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'web',
          image: 'trellis.local/busybox',
          command: ['sh', '-c', 'echo started; exec httpd -f -p 8080 -h /etc'],
        },
      ],
    },
  });

/** What a node can be told by a file. */
const documents = [
  { apiVersion: 'trellis.local/v1alpha1', kind: 'ClusterConfiguration', nodeName: 'second' },
  { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 23 },
];

describeWith(NEEDS, 'a host that joins', () => {
  let cluster: TestCluster;
  let host: SecondHost;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    host = await SecondHost.beside(cluster);
  });
  afterAll(async () => {
    await host?.remove();
    await cluster?.remove();
  });

  const logs = async () => (await host.trellis('logs', 'agent')).stdout;
  const page = (from: string, url: string) =>
    eventually(
      () => cluster.kubectl('exec', from, '--', 'wget', '-q', '-O', '-', url),
      (text) => text !== '',
    );
  const isRunning = (name: string) =>
    eventually(
      () => cluster.kubectl('get', 'pod', name, '-o', 'jsonpath={.status.phase} {.status.podIP}'),
      (text) => text.startsWith('Running '),
    ).then((text) => text.slice('Running '.length));

  test('is told how by a control plane that runs alone', async () => {
    // With no more rights than its service has.
    const rights = `-all,${SERVER_CAPABILITIES.map((name) => `+${name}`).join()}`;
    const fence = ['setpriv', '--bounding-set', rights];
    const server = await cluster.run([...fence, ...trellisOf(cluster, 'server'), ...DETACHED]);
    expect(server).toMatchObject({ code: 0, stderr: '' });
    expect(server.stdout).toMatch(
      /trellis agent --server https:\/\/192\.168\.99\.1:6443 --token \S+ --ca-cert-hash /,
    );
    expect(await cluster.trellis('status')).toMatchObject({ code: 0 });
    expect(await cluster.kubectl('get', 'nodes', '-o', 'name')).toBe('');
    expect(await cluster.trellis('down')).toMatchObject({ code: 0 });
    // The same data with a node beside it: what the rest needs.
    expect(await cluster.trellis('up', ...DETACHED)).toMatchObject({ code: 0, stderr: '' });
  });

  test('becomes a Ready node', async () => {
    const { stdout: command } = await cluster.trellis('token create', '--print-join-command');
    const [trellis, agent, ...words] = command.trim().split(' ');
    expect([trellis, agent]).toEqual(['trellis', 'agent']);
    const wrong = words.map((word) => (word.startsWith('sha256:') ? `sha256:${'0'.repeat(64)}` : word));
    const refused = await host.trellis('agent', ...wrong, '--node-name', 'second', ...DETACHED);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--ca-cert-hash') });
    expect(existsSync(path.join(host.dataDir, 'cluster.json'))).toBe(false);
    const file = path.join(path.dirname(host.dataDir), 'agent.yaml');
    writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n---\n'));
    const joined = await host.trellis('agent', ...words, '--config', file, '--keep-pods', ...DETACHED);
    expect(joined, await logs()).toMatchObject({ code: 0, stderr: '' });
    expect(await cluster.kubectl('get', 'node', 'second', '--no-headers')).toMatch(/^second +Ready /);
    const capacity = '{.status.capacity.pods}';
    expect(await cluster.kubectl('get', 'node', 'second', '-o', `jsonpath=${capacity}`)).toBe('23');
    // The secret is neither on disk nor to be seen among the processes.
    const [, token = ''] = /--token (\S+)/.exec(command) ?? [];
    expect(existsSync(path.join(host.dataDir, 'bootstrap.kubeconfig'))).toBe(false);
    expect(execFileSync('ps', ['-e', '-o', 'args'], { encoding: 'utf8' })).not.toContain(token);
  });

  test('runs pods that reach those of the other host, by address, service and name', async () => {
    for (const [name, node] of [
      ['one', hostname().toLowerCase()],
      ['two', 'second'],
    ] as const)
      await cluster.run([...trellisOf(cluster, 'kubectl'), 'apply', '-f', '-'], { input: pod(name, node) });
    await cluster.kubectl('expose', 'pod', 'two', '--port', '80', '--target-port', '8080');
    const [one, two] = [await isRunning('one'), await isRunning('two')];
    expect((await page('one', `http://${two}:8080/hostname`)).trim()).toBe('two');
    expect((await page('two', `http://${one}:8080/hostname`)).trim()).toBe('one');
    expect((await page('one', 'http://two/hostname')).trim()).toBe('two');
    expect((await page('two', 'http://two.default.svc.cluster.local/hostname')).trim()).toBe('two');
    expect(await cluster.kubectl('logs', 'two')).toBe('started\n');
  });

  test('goes on without the token and with its pods, and leaves nothing when it is taken down', async () => {
    const containers = () => cluster.kubectl('get', 'pod', 'two', '-o', CONTAINERS);
    const before = await containers();
    // As systemd ends a service that is to start again.
    await host.node.run('kill', '-TERM', String(await supervisorOf(host)));
    await eventually(
      () => host.trellis('status', '-o', 'json'),
      ({ stdout }) => JSON.parse(stdout).components.every(({ pid }: { pid?: number }) => pid === undefined),
    );
    expect(await host.node.run('pgrep', '-f', 'httpd -f -p 8080')).not.toBe('');
    const again = await host.trellis('agent', ...DETACHED);
    expect(again, await logs()).toMatchObject({ code: 0, stderr: '' });
    const status = await host.trellis('status');
    expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('node second: Ready') });
    expect((await page('one', 'http://two/hostname')).trim()).toBe('two');
    expect(await containers()).toBe(before);

    expect(await host.trellis('down')).toMatchObject({ code: 0, stderr: '' });
    const left = await host.netns.run('sh', '-c', 'ip -o link; nft list ruleset');
    expect(left.split('\n').filter((line) => /: (trl-|trx|veth)|table/.test(line))).toEqual([]);
    // Nobody collects the dead there: the host's first process is a sleep.
    const processes = (await host.node.run('ps', '-e', '-o', 'stat=,args=')).split('\n');
    expect(
      processes.filter((line) => /httpd|containerd|trellis/.test(line) && !line.startsWith('Z')),
    ).toEqual([]);
  });
});

const CONTAINERS =
  'jsonpath={.status.containerStatuses[*].containerID} {.status.containerStatuses[*].restartCount}';

async function supervisorOf(host: SecondHost): Promise<number> {
  const { stdout } = await host.trellis('status', '-o', 'json');
  const { components } = JSON.parse(stdout) as { components: { name: string; pid?: number }[] };
  return components.find(({ name }) => name === 'supervisor')?.pid ?? 0;
}

const trellisOf = ({ dataDir }: TestCluster, command: string) => [
  process.execPath,
  'dist/src/cli/main.js',
  command,
  '--data-dir',
  dataDir,
];
