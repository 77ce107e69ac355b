// Two clusters on one machine, each in a data directory of its own: neither notices when the other comes, dies or goes.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { differences, lookAtMachine } from '../support/machine.js';
import { describeWith } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter'] };
const SERVE = ['--', 'httpd', '-f', '-p', '8080', '-h', '/etc'];
/** What two clusters cannot share on one network. */
const OTHERS = [
  '--secure-port',
  '7443',
  '--kubelet-port',
  '11250',
  '--kubelet-healthz-port',
  '11248',
  '--dns-port',
  '11053',
  '--cluster-cidr',
  '10.20.0.0/16',
  '--service-cluster-ip-range',
  '10.21.0.0/16',
];

/** Where every containerd of a machine keeps what its pods were given; a further node has its own laid over it. */
const CNI_RESULTS = '/var/lib/cni';

/** The mounts that a further node has; the program that made it stays outside. */
function mountsOf(pid: number): string {
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0];
  return readFileSync(`/proc/${child}/mountinfo`, 'utf8');
}

describeWith(NEEDS, 'two clusters on one machine', () => {
  let first: TestCluster;
  let second: TestCluster;
  beforeAll(async () => {
    first = await TestCluster.make();
    second = first.another();
  });
  afterAll(async () => {
    await second?.remove();
    await first?.remove();
  });

  const serve = async (cluster: TestCluster, name: string) => {
    await cluster.kubectl(
      'create',
      'deployment',
      name,
      '--image=trellis.local/busybox',
      '--replicas=2',
      ...SERVE,
    );
    await cluster.kubectl('expose', 'deployment', name, '--port=80', '--target-port=8080');
    await cluster.kubectl('rollout', 'status', 'deployment', name, '--timeout=90s');
  };
  /** From the machine, and by name from a pod of the cluster. */
  const answers = async (cluster: TestCluster, name: string) => {
    const address = await cluster.kubectl('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}');
    await eventually(
      () => cluster.get(`http://${address}/hostname`),
      (text) => text.startsWith(`${name}-`),
    );
    await eventually(
      () =>
        cluster.kubectl(
          'exec',
          `deployment/${name}`,
          '--',
          'wget',
          '-q',
          '-O',
          '-',
          `http://${name}/hostname`,
        ),
      (text) => text.startsWith(`${name}-`),
    );
  };
  const isWell = async (cluster: TestCluster) =>
    expect(await cluster.trellis('status')).toMatchObject({ code: 0 });

  test('that want the same ports: the second is told which flag to give', async () => {
    const up = await first.trellis('up', '--detach', '--nodes', '2', '--node-name', 'one');
    expect(up).toMatchObject({ code: 0, stderr: '' });
    // On the further node alone, so that nothing of this cluster is where the other one cleans up.
    await first.kubectl('cordon', 'one');
    await serve(first, 'one');
    const refused = await second.trellis('up', '--detach');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--secure-port') });
    await answers(first, 'one');
  });

  test('run beside each other, each with its own pods, services and names', async () => {
    const before = await lookAtMachine(second.place);
    expect(await second.trellis('up', '--detach', ...OTHERS)).toMatchObject({ code: 0, stderr: '' });
    const node = (await second.kubectl('get', 'nodes', '-o', 'name')).trim().replace('node/', '');
    const configz = await second.kubectl('get', '--raw', `/api/v1/nodes/${node}/proxy/configz`);
    expect(JSON.parse(configz).kubeletconfig).toMatchObject({ port: 11250, healthzPort: 11248 });
    await serve(second, 'two');
    for (const [cluster, name] of [
      [first, 'one'],
      [second, 'two'],
    ] as const) {
      await isWell(cluster);
      await answers(cluster, name);
      expect(await cluster.kubectl('get', 'deployments', '-o', 'name')).toBe(`deployment.apps/${name}\n`);
    }
    // One is killed as a whole and taken away: nothing is left of it, and the other has not noticed.
    const pods = () =>
      first.kubectl('get', 'pods', '-o', 'jsonpath={.items[*].status.containerStatuses[*].containerID}');
    const running = await pods();
    for (const pid of Object.values(await second.processes())) process.kill(pid, 'SIGKILL');
    await answers(first, 'one');
    expect(await second.trellis('down', '--purge')).toMatchObject({ code: 0, stderr: '' });
    await eventually(
      async () => differences(before, await lookAtMachine(second.place)),
      // Commands of the test itself come and go.
      (left) => left.every((line) => /^processes: .* is gone$/.test(line)),
    );
    await isWell(first);
    await answers(first, 'one');
    expect(await pods()).toBe(running);
    expect(mountsOf((await first.processes())['one-2'] ?? 0)).toContain(` ${CNI_RESULTS} `);
  });
});
