// A chapter on network policies walked through on two nodes: its examples word for word, each met by packets, directly and
// through a Service; proved by the kernel's own trace; and in force while the agent is killed again and again.
// TRELLIS_PROOF=long walks it in every proxy mode that the kernel has; TRELLIS_POLICY_KILLS=30 kills as often.
import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layoutOf } from '../../src/cluster/layout.js';
import { makeNetNs, type TestNetNs } from '../support/netns.js';
import {
  ALLOW_EGRESS,
  ALLOW_INGRESS,
  DENY_BOTH,
  DENY_EGRESS,
  DENY_INGRESS,
  WHOLE,
} from '../support/policy/chapter.js';
import { describeWith, kernelHas } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const LONG = process.env['TRELLIS_PROOF'] === 'long';
const KILLS = Number(process.env['TRELLIS_POLICY_KILLS'] ?? 1);
const MODES = LONG
  ? ['nftables', 'iptables', 'userspace', ...(kernelHas('ip-vs') ? ['ipvs'] : [])]
  : ['nftables'];
const IMAGE = 'trellis.local/busybox';
/** Where each pod runs: the database beside one stranger, and away from everybody else. */
const [NEAR, AWAY] = ['one', 'one-2'];
/** Machines outside of the cluster, reached by the first node. */
const [TAKEN, EXCEPTED, TARGET] = ['172.17.0.5', '172.17.1.5', '10.0.0.7'];

const pod = (name: string, nodeName: string, { namespace = 'default', role = name } = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { role } },
  spec: {
    nodeName,
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
const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'database', namespace: 'default' },
  spec: { selector: { role: 'db' }, ports: [{ port: 80, targetPort: 8080 }] },
};

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nsenter', 'ip'] };

describeWith(NEEDS, 'network policies of a cluster', () => {
  describe.each(MODES)('with the proxy mode %s', (mode) => {
    let cluster: TestCluster;
    let outside: TestNetNs;
    const children: ChildProcess[] = [];
    const addresses = new Map<string, string>();

    const kubectl = async (words: readonly string[], input = '') => {
      const config = ['--kubeconfig', layoutOf(cluster.dataDir).adminKubeconfig];
      return cluster.run(['kubectl', ...config, ...words], { input });
    };
    const done = async (words: readonly string[], input?: string): Promise<string> => {
      const { code, stdout, stderr } = await kubectl(words, input);
      expect(code, `kubectl ${words.join(' ')}: ${stderr}${stdout}`).toBe(0);
      return stdout;
    };
    const apply = (...objects: object[]) =>
      copied(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    const copied = (document: string) => done(['apply', '-f', '-'], document);
    const clear = () => done(['delete', 'networkpolicies', '--all', '--all-namespaces']);
    /** "namespace/pod" asks; answers whether it got the page. */
    const asks = async (from: string, url: string): Promise<boolean> => {
      const [namespace = '', name = ''] = from.split('/');
      const words = ['timeout', '2', 'wget', '-q', '-O', '-', url];
      return (await kubectl(['-n', namespace, 'exec', name, '--', ...words])).code === 0;
    };
    /** A machine outside asks, under one of its addresses. */
    const outsideAsks = async (source: string, name: string, port: number): Promise<boolean> => {
      const fromOutside = ['nsenter', `--net=${outside.path}`, 'perl', '-e', CONNECT];
      return (await cluster.run([...fromOutside, source, ip(name), String(port)])).code === 0;
    };
    const ip = (name: string) => addresses.get(name) ?? '';
    const to = (name: string, port = 8080) => `http://${ip(name)}:${port}/hostname`;
    const comesTo = (expected: boolean, from: string, url: string) =>
      eventually(
        () => asks(from, url),
        (answered) => answered === expected,
      );
    const explained = (...words: string[]) => cluster.trellis('policy explain', ...words, '--trace');

    beforeAll(async () => {
      cluster = await TestCluster.make();
      const words = ['--detach', '--nodes', '2', '--node-name', NEAR, '--mode', mode];
      const { code, stderr, stdout } = await cluster.trellis('up', ...words);
      expect(code, `${stdout}${stderr}`).toBe(0);
      await apply(
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine', labels: { project: 'myproject' } } },
        pod('db', NEAR),
        pod('other', NEAR),
        pod('frontend', AWAY),
        pod('guest', AWAY, { namespace: 'mine', role: 'other' }),
        SERVICE,
      );
      await done(['wait', '--for=condition=Ready', 'pod', '--all', '-A', '--timeout=90s']);
      const listed = JSON.parse(await done(['get', 'pods', '-A', '-o', 'json'])) as {
        items: { metadata: { name: string }; status: { podIP: string } }[];
      };
      for (const { metadata, status } of listed.items) addresses.set(metadata.name, status.podIP);
      outside = await makeNetNs();
      await cluster.netns.run('sh', '-e', '-c', reachOutside(outside.path));
      await outside.run('sh', '-e', '-c', OUTSIDE);
      for (const port of ['5978', '5979']) {
        const serving = ['busybox', 'httpd', '-f', '-p', port, '-h', '/etc'];
        children.push(spawn('nsenter', [`--net=${outside.path}`, ...serving], { stdio: 'ignore' }));
      }
    });
    afterAll(async () => {
      for (const child of children) child.kill('SIGKILL');
      await cluster?.remove();
      await outside?.remove();
    });

    /** Each asks at the same time as the others: what is refused is known only after a while. */
    const each = async (...asked: readonly (readonly [Promise<boolean>, boolean])[]) => {
      const answers = await Promise.all(asked.map(([answer]) => answer));
      expect(answers).toEqual(asked.map(([, expected]) => expected));
    };
    const agree = async (...pairs: readonly (readonly [string, string])[]) => {
      const answers = await Promise.all(pairs.map((pair) => explained(...pair)));
      for (const { stdout } of answers) expect(stdout).toContain(AGREES);
    };

    test('without one, everybody reaches everybody', async () => {
      await each(
        [asks('default/other', to('db')), true],
        [asks('default/frontend', to('db')), true],
        [asks('mine/guest', to('db')), true],
        [outsideAsks(TAKEN, 'db', 6379), true],
        [outsideAsks(EXCEPTED, 'db', 6379), true],
        [asks('default/frontend', 'http://database/hostname'), true],
        [asks('default/db', 'http://database/hostname'), true],
        [asks('default/db', `http://${TARGET}:5979/hostname`), true],
      );
      const { code, stdout } = await explained('pod/frontend', 'pod/db:8080');
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(AGREES) });
      expect(stdout).toContain(`${AWAY}: went on towards its destination`);
      expect(stdout).toContain(`${NEAR}: went on towards its destination`);
    });

    test('deny all ingress, then allow all ingress', async () => {
      await copied(DENY_INGRESS);
      await comesTo(false, 'default/frontend', to('db'));
      await each(
        [asks('mine/guest', to('db')), false],
        [outsideAsks(TAKEN, 'db', 6379), false],
        // In the userspace mode it is the node itself that asks for the pod beside the database.
        [asks('default/other', 'http://database/hostname'), mode === 'userspace'],
        // The other way is free, and so are the pod itself, also through its Service, and the node with its probes.
        [asks('default/db', to('guest')), true],
        [asks('default/db', to('db')), true],
        [asks('default/db', 'http://database/hostname'), true],
      );
      expect(await cluster.get(to('db'))).not.toBe('');
      expect(await done(['get', '--raw', `/api/v1/nodes/${NEAR}/proxy/metrics`])).toMatch(
        /^trellis_network_policy_refused_packets_total\{direction="ingress",family="ipv4"\} [1-9]/m,
      );
      const { code, stdout } = await explained('pod/frontend', 'pod/db:8080');
      expect(code).toBe(1);
      expect(stdout).toContain(`${NEAR}: no ingress rule of default/default-deny matches`);
      expect(stdout).toContain(AGREES);
      await copied(ALLOW_INGRESS);
      await comesTo(true, 'mine/guest', to('db'));
      await clear();
    });

    test('deny all egress, then allow all egress', async () => {
      await copied(DENY_EGRESS);
      await comesTo(false, 'default/other', to('guest'));
      await each(
        [asks('default/other', to('db')), false],
        [asks('default/db', `http://${TARGET}:5978/hostname`), false],
        [asks('mine/guest', to('db')), true],
      );
      await agree(['pod/other', 'mine/guest:8080']);
      await copied(ALLOW_EGRESS);
      await comesTo(true, 'default/other', to('guest'));
      await clear();
    });

    test('deny all ingress and all egress, also for a pod that comes later', async () => {
      await copied(DENY_BOTH);
      await comesTo(false, 'mine/guest', to('db'));
      await apply(pod('late', NEAR));
      await done(['wait', '--for=condition=Ready', 'pod/late', '--timeout=60s']);
      addresses.set('late', await done(['get', 'pod', 'late', '-o', 'jsonpath={.status.podIP}']));
      await each([asks('mine/guest', to('late')), false], [asks('default/late', to('guest')), false]);
      await clear();
      await comesTo(true, 'mine/guest', to('late'));
      await done(['delete', 'pod', 'late', '--wait=false']);
    });

    test('the complete example opens exactly what it says', async () => {
      await copied(WHOLE);
      await comesTo(false, 'default/other', to('db', 6379));
      await each(
        [asks('default/frontend', to('db', 6379)), true],
        [asks('mine/guest', to('db', 6379)), true],
        [outsideAsks(TAKEN, 'db', 6379), true],
        [outsideAsks(EXCEPTED, 'db', 6379), false],
        [outsideAsks(TAKEN, 'db', 8080), false],
        [asks('default/frontend', to('db', 8080)), false],
        [asks('default/db', to('guest')), false],
        [asks('default/db', `http://${TARGET}:5978/hostname`), true],
        [asks('default/db', `http://${TARGET}:5979/hostname`), false],
      );
      await agree(
        ['pod/frontend', 'pod/db:6379'],
        ['mine/guest', 'pod/db:8080'],
        ['pod/db', `${TARGET}:5978`],
      );
      // By its label a pod becomes one that may, and no longer is.
      await done(['label', 'pod', 'other', 'role=frontend', '--overwrite']);
      await comesTo(true, 'default/other', to('db', 6379));
      await done(['label', 'pod', 'other', 'role=other', '--overwrite']);
      await comesTo(false, 'default/other', to('db', 6379));
    });

    test(`stays in force under load while the agent is killed (${KILLS} times)`, async () => {
      const [allowed, forbidden] = await Promise.all([
        load('frontend', `wget -q -O /dev/null ${to('db', 6379)}`),
        load('other', `timeout 1 wget -q -O /dev/null ${to('db', 6379)}`),
      ]);
      const isUnderWay = async () => {
        const before = await Promise.all([allowed(), forbidden()]);
        const grows = (now: Tries, i: number) => now.tried >= (before[i]?.tried ?? 0) + 3;
        await eventually(
          () => Promise.all([allowed(), forbidden()]),
          (now) => now.every(grows),
        );
      };
      for (let kill = 0; kill < KILLS; kill++) {
        const { agent } = await cluster.processes();
        if (agent === undefined) throw new Error('the agent has no process');
        await isUnderWay();
        process.kill(agent, 'SIGKILL');
        expect(await cluster.netns.run('nft', 'list', 'tables')).toContain('trellis-policy');
        await eventually(
          () => cluster.processes(),
          (found) => found['agent'] !== undefined && found['agent'] !== agent,
        );
        // Through its start, and what it writes anew.
        await eventually(
          async () => (await explained('pod/other', 'pod/db:6379')).stdout,
          (text) => text.includes(AGREES),
        );
        await isUnderWay();
      }
      const [good, bad] = await Promise.all([allowed(), forbidden()]);
      expect(good).toEqual({ tried: good.tried, passed: good.tried });
      expect(bad).toEqual({ tried: bad.tried, passed: 0 });
    });

    test('closes the pods before the API server answers, as after a reboot', async () => {
      const { agent, server } = await cluster.processes();
      if (agent === undefined || server === undefined) throw new Error('agent and server have no processes');
      expect(await outsideAsks(TAKEN, 'db', 6379)).toBe(true);
      process.kill(server, 'SIGSTOP');
      try {
        process.kill(agent, 'SIGKILL');
        const listed = await cluster.netns.run('nft', 'list', 'tables');
        for (const [table] of listed.matchAll(/ip6? trellis-policy\S*/g))
          await cluster.netns.run('nft', 'delete', 'table', ...(table.split(' ') as [string, string]));
        // What no policy allows passes until the ranges are closed; then not even what one does.
        await eventually(
          async () => [await outsideAsks(TAKEN, 'db', 8080), await outsideAsks(TAKEN, 'db', 6379)],
          (answers) => !answers.includes(true),
        );
      } finally {
        process.kill(server, 'SIGCONT');
      }
      await eventually(
        () => outsideAsks(TAKEN, 'db', 6379),
        (answered) => answered,
      );
      expect(await outsideAsks(TAKEN, 'db', 8080)).toBe(false);
    });

    test('leaves nothing of it after down', async () => {
      expect((await cluster.trellis('down')).code).toBe(0);
      expect(await cluster.netns.run('nft', 'list', 'tables')).not.toContain('trellis');
    });

    /** Tries it in a pod all the time, without the agent's help; answers how to ask how it went so far. */
    async function load(name: string, command: string): Promise<() => Promise<Tries>> {
      const again = `while :; do if ${command}; then echo y >> /tmp/y; else echo n >> /tmp/n; fi; done`;
      const inPod = (script: string) => done(['exec', name, '--', 'sh', '-c', script]);
      await inPod(
        `touch /tmp/y /tmp/n; for i in 1 2 3 4; do setsid sh -c '${again}' < /dev/null > /dev/null 2>&1 & done`,
      );
      return () =>
        eventually(
          async () => {
            const [passed = 0, failed = 0] = (await inPod('wc -l < /tmp/y; wc -l < /tmp/n'))
              .split('\n')
              .map(Number);
            return { tried: passed + failed, passed };
          },
          () => true,
        );
    }
  });
});

interface Tries {
  readonly tried: number;
  readonly passed: number;
}

const AGREES = 'the kernel agrees with the objects';

/** From the first node to the machines outside. */
const reachOutside = (far: string) => `
ip link add outside type veth peer name eth0 netns ${far}
ip link set outside up
ip addr add 192.168.98.1/24 dev outside
for network in 172.17.0.0/16 10.0.0.0/24; do ip route add $network via 192.168.98.2; done
`;
const OUTSIDE = `
ip link set lo up
ip link set eth0 up
ip addr add 192.168.98.2/24 dev eth0
ip route add default via 192.168.98.1
for address in ${TAKEN} ${EXCEPTED} ${TARGET}; do ip addr add $address/32 dev lo; done
`;
const CONNECT = `use IO::Socket::INET; my ($from, $to, $port) = @ARGV;
exit !IO::Socket::INET->new(LocalAddr => $from, PeerAddr => $to, PeerPort => $port, Timeout => 2);`;
