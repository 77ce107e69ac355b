// The way of a Deployment from `kubectl apply` to an answer: stored, expanded, placed, started, ready, and reached through a
// Service by its name from another pod. On one node in every proxy mode that this kernel has, and on three.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWith, kernelHas } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter', 'script'] };
const LONG = process.env['TRELLIS_PROOF'] === 'long';
const IMAGE = 'trellis.local/busybox';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web-deployment' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'web',
            image: IMAGE,
            command: ['httpd', '-f', '-p', '8080', '-h', '/etc'],
            // Long enough that every stage is told.
            readinessProbe: {
              httpGet: { path: '/hostname', port: 8080 },
              periodSeconds: 1,
              initialDelaySeconds: 2,
            },
          },
        ],
      },
    },
  },
};
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
};

interface SeenPod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** What a watch showed of each pod, one stage after the other, each once. */
function stagesOf(said: string): Map<string, string[]> {
  const stages = new Map<string, string[]>();
  // kubectl writes one object after the other, each indented.
  for (const text of said.split(/^(?=\{)/m)) {
    if (!text.trimEnd().endsWith('\n}')) continue;
    const { metadata, status }: SeenPod = JSON.parse(text);
    const is = (type: string) => status.conditions?.find((one) => one.type === type)?.status === 'True';
    const stage = `${status.phase}${is('PodScheduled') ? ', placed' : ''}${is('Ready') ? ', ready' : ''}`;
    const seen = stages.get(metadata.name) ?? [];
    if (seen.at(-1) !== stage) stages.set(metadata.name, [...seen, stage]);
  }
  return stages;
}

const MODES = ['nftables', 'iptables', 'userspace', ...(kernelHas('ip-vs') ? ['ipvs'] : [])];
const CASES = [
  ...MODES.map((mode) => [1, mode] as const),
  ...MODES.filter((mode) => LONG || mode === 'nftables').map((mode) => [3, mode] as const),
];

describeWith(NEEDS, 'the way of a Deployment', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.make();
  });
  afterAll(() => cluster?.remove());

  const apply = async (...objects: object[]) => {
    const file = path.join(path.dirname(cluster.dataDir), 'objects.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    return cluster.kubectl('apply', '-f', file);
  };

  describe.each(CASES)('on %i nodes with %s', (nodes, mode) => {
    test('goes through every stage', async () => {
      const up = await cluster.trellis('up', '--detach', '--nodes', String(nodes), '--mode', mode);
      expect(up).toMatchObject({ code: 0, stderr: '' });
      expect(await cluster.get('http://127.0.0.1:10249/proxyMode')).toBe(mode);
      const watch = cluster.follow('get', 'pods', '-l', 'app=web', '-w', '-o', 'json');
      await apply(service, deployment);
      expect(
        await cluster.kubectl('rollout', 'status', 'deployment/web-deployment', '--timeout=90s'),
      ).toContain('successfully rolled out');
      const stages = await eventually(
        async () => stagesOf(watch.said()),
        (seen) => [...seen.values()].filter((all) => all.at(-1)?.endsWith('ready')).length === 3,
      );
      await watch.stop();
      for (const seen of stages.values())
        expect(seen).toEqual(['Pending', 'Pending, placed', 'Running, placed', 'Running, placed, ready']);
      const reasons = (await cluster.kubectl('get', 'events', '-o', 'jsonpath={.items[*].reason}')).split(
        ' ',
      );
      for (const reason of [
        'ScalingReplicaSet',
        'SuccessfulCreate',
        'Scheduled',
        'Pulled',
        'Created',
        'Started',
      ])
        expect(reasons).toContain(reason);
      const placed = await cluster.kubectl(
        'get',
        'pods',
        '-l',
        'app=web',
        '-o',
        'jsonpath={.items[*].spec.nodeName}',
      );
      expect(new Set(placed.split(' ')).size).toBe(nodes);
    });

    test('ends with answers from every pod, by the name of the Service', async () => {
      const names = (
        await cluster.kubectl('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].metadata.name}')
      ).split(' ');
      await cluster.kubectl('run', 'asker', `--image=${IMAGE}`, '--', 'sleep', '1000');
      await cluster.kubectl('wait', '--for=condition=Ready', 'pod/asker', '--timeout=60s');
      for (const host of ['web', 'web.default.svc.cluster.local', 'web.default.cluster.local']) {
        const ask = `for i in $(seq 20); do wget -q -O - http://${host}/hostname; done`;
        await eventually(
          async () => (await cluster.kubectl('exec', 'asker', '--', 'sh', '-c', ask)).trim().split('\n'),
          (answers) => new Set(answers).size === 3 && answers.every((answer) => names.includes(answer)),
        );
      }
    });

    test.runIf(mode === 'nftables')('lets a terminal be attached to', async () => {
      await cluster.kubectl(
        'run',
        'shell',
        `--image=${IMAGE}`,
        '-it',
        '--restart=Never',
        '--attach=false',
        '--',
        'sh',
      );
      await cluster.kubectl('wait', '--for=condition=Ready', 'pod/shell', '--timeout=60s');
      const kubectl = `${process.execPath} dist/src/cli/main.js kubectl --data-dir ${cluster.dataDir}`;
      const { stdout } = await cluster.run(['script', '-qec', `${kubectl} attach -it shell`, '/dev/null'], {
        input: 'echo $((6 * 7)) on $(tty)\nexit\n',
      });
      expect(stdout).toMatch(/42 on \/dev\/pts\/\d+/);
    });

    test('is undone', async () => {
      await cluster.kubectl('delete', 'deployment,service,pod', '--all', '--grace-period=1');
      await cluster.kubectl('delete', 'events', '--all');
      expect(await cluster.trellis('down', ...(nodes === 3 ? ['--purge'] : []))).toMatchObject({
        code: 0,
        stderr: '',
      });
    });
  });
});
