// Network policies in a cluster, as people write them: the defaults of a namespace, and one policy with everything in it.
// A pod asks another over HTTP, directly and through a Service, and is answered or not.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const IMAGE = 'trellis.local/busybox';

const policy = (name: string, spec: object) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace: 'default' },
  spec,
});
const DENY_INGRESS = policy('default-deny', { podSelector: {}, policyTypes: ['Ingress'] });
const ALLOW_INGRESS = policy('allow-all', { podSelector: {}, policyTypes: ['Ingress'], ingress: [{}] });
const DENY_EGRESS = policy('default-deny', { podSelector: {}, policyTypes: ['Egress'] });
const ALLOW_EGRESS = policy('allow-all', { podSelector: {}, policyTypes: ['Egress'], egress: [{}] });
const DENY_BOTH = policy('default-deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
const WHOLE = policy('test-network-policy', {
  podSelector: { matchLabels: { role: 'db' } },
  policyTypes: ['Ingress', 'Egress'],
  ingress: [
    {
      from: [
        { ipBlock: { cidr: '172.17.0.0/16', except: ['172.17.1.0/24'] } },
        { namespaceSelector: { matchLabels: { project: 'myproject' } } },
        { podSelector: { matchLabels: { role: 'frontend' } } },
      ],
      ports: [{ protocol: 'TCP', port: 6379 }],
    },
  ],
  egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/24' } }], ports: [{ protocol: 'TCP', port: 5978 }] }],
});

const pod = (
  name: string,
  { namespace = 'default', role = name }: { namespace?: string; role?: string } = {},
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { role } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: IMAGE,
        command: ['sh', '-c', 'httpd -p 6379 -h /etc && exec httpd -f -p 8080 -h /etc'],
        readinessProbe: { httpGet: { path: '/hostname', port: 8080 }, periodSeconds: 1 },
      },
    ],
  },
});

describeWith(
  { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nsenter'] },
  'network policies of a cluster',
  () => {
    let cluster: TestCluster;
    const addresses = new Map<string, string>();
    const apply = async (...objects: object[]) => {
      const file = path.join(path.dirname(cluster.dataDir), 'objects.json');
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
      await cluster.kubectl('apply', '-f', file);
    };
    const clear = () => cluster.kubectl('delete', 'networkpolicies', '--all', '--all-namespaces');
    /** "namespace/pod" asks; answers whether it got the page. */
    const asks = async (from: string, url: string): Promise<boolean> => {
      const [namespace = '', name = ''] = from.split('/');
      const words = ['-n', namespace, 'exec', name, '--', 'timeout', '2', 'wget', '-q', '-O', '-', url];
      return (await cluster.trellis('kubectl', ...words)).code === 0;
    };
    const to = (name: string, port = 8080) => `http://${addresses.get(name)}:${port}/hostname`;
    const comesTo = (expected: boolean, from: string, url: string) =>
      eventually(
        () => asks(from, url),
        (answered) => answered === expected,
      );

    beforeAll(async () => {
      cluster = await TestCluster.make();
      const { code, stderr, stdout } = await cluster.trellis('up', '--detach');
      expect(code, `${stdout}${stderr}`).toBe(0);
      await apply(
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine', labels: { project: 'myproject' } } },
        pod('db'),
        pod('frontend'),
        pod('other'),
        pod('guest', { namespace: 'mine', role: 'other' }),
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'database', namespace: 'default' },
          spec: { selector: { role: 'db' }, ports: [{ port: 80, targetPort: 8080 }] },
        },
      );
      await cluster.kubectl(
        'wait',
        '--for=condition=Ready',
        'pod',
        '--all',
        '--all-namespaces',
        '--timeout=60s',
      );
      const listed = JSON.parse(await cluster.kubectl('get', 'pods', '--all-namespaces', '-o', 'json')) as {
        items: { metadata: { name: string }; status: { podIP: string } }[];
      };
      for (const { metadata, status } of listed.items) addresses.set(metadata.name, status.podIP);
    });
    afterAll(() => cluster?.remove());

    test('without one, everybody reaches everybody', async () => {
      expect(await asks('default/other', to('db'))).toBe(true);
      expect(await asks('mine/guest', to('db'))).toBe(true);
      expect(await asks('default/other', 'http://database/hostname')).toBe(true);
      expect(await asks('default/db', 'http://database/hostname')).toBe(true);
    });

    test('a namespace that denies ingress is reached by nobody but the node, until one that allows all is added', async () => {
      await apply(DENY_INGRESS);
      await comesTo(false, 'default/other', to('db'));
      expect(await asks('mine/guest', to('db'))).toBe(false);
      expect(await asks('default/other', 'http://database/hostname')).toBe(false);
      // The other way is free, and so are the pod itself, also through its Service, and the node with its probes.
      expect(await asks('default/db', to('guest'))).toBe(true);
      expect(await asks('default/db', to('db'))).toBe(true);
      expect(await asks('default/db', 'http://database/hostname')).toBe(true);
      expect(await cluster.get(to('db'))).not.toBe('');
      const node = await cluster.kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}');
      expect(await cluster.kubectl('get', '--raw', `/api/v1/nodes/${node}/proxy/metrics`)).toMatch(
        /^trellis_network_policy_refused_packets_total\{direction="ingress",family="ipv4"\} [1-9]/m,
      );
      await apply(ALLOW_INGRESS);
      await comesTo(true, 'mine/guest', to('db'));
      await clear();
    });

    test('a namespace that denies egress reaches nobody, until one that allows all is added', async () => {
      await apply(DENY_EGRESS);
      await comesTo(false, 'default/other', to('guest'));
      expect(await asks('default/other', to('db'))).toBe(false);
      expect(await asks('mine/guest', to('db'))).toBe(true);
      await apply(ALLOW_EGRESS);
      await comesTo(true, 'default/other', to('guest'));
      await clear();
    });

    test('denied both ways, a pod that comes later is as closed as the others', async () => {
      await apply(DENY_BOTH);
      await comesTo(false, 'mine/guest', to('db'));
      await apply(pod('late'));
      await cluster.kubectl('wait', '--for=condition=Ready', 'pod/late', '--timeout=60s');
      const ip = await cluster.kubectl('get', 'pod', 'late', '-o', 'jsonpath={.status.podIP}');
      expect(await asks('mine/guest', `http://${ip}:8080/hostname`)).toBe(false);
      expect(await asks('default/late', to('guest'))).toBe(false);
      await clear();
      await comesTo(true, 'mine/guest', `http://${ip}:8080/hostname`);
    });

    test('a policy with networks, namespaces, pods and ports opens exactly what it says', async () => {
      await apply(WHOLE);
      await comesTo(false, 'default/other', to('db', 6379));
      expect(await asks('default/frontend', to('db', 6379))).toBe(true);
      expect(await asks('mine/guest', to('db', 6379))).toBe(true);
      expect(await asks('default/frontend', to('db', 8080))).toBe(false);
      expect(await asks('default/db', to('guest'))).toBe(false);
      // By its label a pod becomes one that may, and no longer is.
      await cluster.kubectl('label', 'pod', 'other', 'role=frontend', '--overwrite');
      await comesTo(true, 'default/other', to('db', 6379));
      await cluster.kubectl('label', 'pod', 'other', 'role=other', '--overwrite');
      await comesTo(false, 'default/other', to('db', 6379));
    });

    test('policies stay in force while the agent is dead, and nothing of them is left after down', async () => {
      const { agent } = await cluster.processes();
      if (agent === undefined) throw new Error('the agent has no process');
      process.kill(agent, 'SIGKILL');
      expect(await cluster.netns.run('nft', 'list', 'tables')).toContain('trellis-policy');
      await eventually(
        () => cluster.processes(),
        (found) => found['agent'] !== undefined && found['agent'] !== agent,
      );
      await comesTo(true, 'default/frontend', to('db', 6379));
      expect(await asks('default/other', to('db', 6379))).toBe(false);
      expect((await cluster.trellis('down')).code).toBe(0);
      expect(await cluster.netns.run('nft', 'list', 'tables')).not.toContain('trellis');
    });
  },
);
