// A chapter on network policies walked through on two nodes: its examples word for word, each met by packets, directly and
// through a Service; proved by the kernel's own trace; and in force while the agent is killed again and again.
// TRELLIS_PROOF=long walks it in every proxy mode that the kernel has; TRELLIS_POLICY_KILLS=30 kills as often.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layoutOf } from '../../src/cluster/layout.js';
import { DENY_INGRESS, WHOLE } from '../support/policy/chapter.js';
import {
  CHAPTER,
  CHAPTER_PODS,
  type ChapterPlace,
  type ChapterPod,
  type ChapterQuestion,
  DATABASE,
  FIRST_PODS,
  MINE,
  OUTSIDE,
  roleOf,
  walkPage,
} from '../support/policy/chapterWalk.js';
import { type OutsideMachines, outsideOf } from '../support/policy/outside.js';
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

const podOf = (name: ChapterPod) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: CHAPTER_PODS[name].namespace, labels: { role: roleOf(name) } },
  spec: {
    nodeName: CHAPTER_PODS[name].isNear ? NEAR : AWAY,
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

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nsenter', 'ip'] };

describeWith(NEEDS, 'network policies of a cluster', () => {
  describe.each(MODES)('with the proxy mode %s', (mode) => {
    let cluster: TestCluster;
    let outside: OutsideMachines;
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
    const ip = (name: string) => addresses.get(name) ?? '';
    /** Asks for a page out of a pod. */
    const asks = async (from: ChapterPod, url: string): Promise<boolean> => {
      const words = ['timeout', '2', 'wget', '-q', '-O', '-', url];
      return (await kubectl(['-n', CHAPTER_PODS[from].namespace, 'exec', from, '--', ...words])).code === 0;
    };
    const outsideAsks = (source: 'taken' | 'excepted', name: string, port: number) =>
      outside.reach(OUTSIDE[source], ip(name), port);
    const explained = (...words: string[]) => cluster.trellis('policy explain', ...words, '--trace');
    const named = (pod: string) =>
      pod === 'target' ? OUTSIDE.target : `${CHAPTER_PODS[pod as ChapterPod].namespace}/${pod}`;
    const place: ChapterPlace = {
      mode,
      put: async (example) => void (await copied(example)),
      clear: async () => void (await done(['delete', 'networkpolicies', '--all', '--all-namespaces'])),
      start: async (name) => {
        await apply(podOf(name));
        await done(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']);
        await learnAddresses();
      },
      label: async (name, role) => void (await done(['label', 'pod', name, `role=${role}`, '--overwrite'])),
      reaches: async ({ from, to, port }) => {
        if (from === 'taken' || from === 'excepted') return outsideAsks(from, to, port);
        const url = `http://${ip(to)}:${port}/hostname`;
        if (from !== 'node') return asks(from, url);
        return cluster.get(url).then(
          () => true,
          () => false,
        );
      },
      trace: async ({ from, to, port }: ChapterQuestion, isExpected) => {
        const { code, stdout } = await explained(named(from), `${named(to)}:${port}`);
        expect({ code, stdout }).toEqual({
          code: isExpected ? 0 : 1,
          stdout: expect.stringContaining(AGREES),
        });
      },
    };
    const learnAddresses = async () => {
      const listed = JSON.parse(await done(['get', 'pods', '-A', '-o', 'json'])) as {
        items: { metadata: { name: string }; status: { podIP: string } }[];
      };
      for (const { metadata, status } of listed.items) addresses.set(metadata.name, status.podIP);
    };

    beforeAll(async () => {
      cluster = await TestCluster.make();
      const words = ['--detach', '--nodes', '2', '--node-name', NEAR, '--mode', mode];
      const { code, stderr, stdout } = await cluster.trellis('up', ...words);
      expect(code, `${stdout}${stderr}`).toBe(0);
      await apply(MINE, ...FIRST_PODS.map(podOf), DATABASE);
      await done(['wait', '--for=condition=Ready', 'pod', '--all', '-A', '--timeout=90s']);
      await learnAddresses();
      addresses.set('target', OUTSIDE.target);
      addresses.set(
        'service',
        await done(['get', 'service', 'database', '-o', 'jsonpath={.spec.clusterIP}']),
      );
      outside = await outsideOf(cluster.netns);
    });
    afterAll(async () => {
      await cluster?.remove();
      await outside?.remove();
    });

    test.each(CHAPTER.map((page) => [page.name, page] as const))('%s', (_, page) => walkPage(place, page));

    test('a trace says which node lets a packet pass and which policy refuses it, and it is counted', async () => {
      await place.clear();
      const open = await eventually(
        () => explained('pod/frontend', 'pod/db:8080'),
        ({ code }) => code === 0,
      );
      expect(open.stdout).toContain(`${AWAY}: went on towards its destination`);
      expect(open.stdout).toContain(`${NEAR}: went on towards its destination`);
      await copied(DENY_INGRESS);
      const closed = await eventually(
        () => explained('pod/frontend', 'pod/db:8080'),
        ({ code }) => code === 1,
      );
      expect(closed.stdout).toContain(`${NEAR}: no ingress rule of default/default-deny matches`);
      expect(await done(['get', '--raw', `/api/v1/nodes/${NEAR}/proxy/metrics`])).toMatch(
        /^trellis_network_policy_refused_packets_total\{direction="ingress",family="ipv4"\} [1-9]/m,
      );
      await place.clear();
    });

    test(`stays in force under load while the agent is killed (${KILLS} times)`, async () => {
      await copied(WHOLE);
      await eventually(
        () => asks('other', `http://${ip('db')}:6379/hostname`),
        (answered) => !answered,
      );
      const [allowed, forbidden] = await Promise.all([
        load('frontend', `wget -q -O /dev/null http://${ip('db')}:6379/hostname`),
        load('other', `timeout 1 wget -q -O /dev/null http://${ip('db')}:6379/hostname`),
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
      expect(await outsideAsks('taken', 'db', 6379)).toBe(true);
      process.kill(server, 'SIGSTOP');
      try {
        process.kill(agent, 'SIGKILL');
        const listed = await cluster.netns.run('nft', 'list', 'tables');
        for (const [table] of listed.matchAll(/ip6? trellis-policy\S*/g))
          await cluster.netns.run('nft', 'delete', 'table', ...(table.split(' ') as [string, string]));
        // What no policy allows passes until the ranges are closed; then not even what one does.
        await eventually(
          async () => [await outsideAsks('taken', 'db', 8080), await outsideAsks('taken', 'db', 6379)],
          (answers) => !answers.includes(true),
        );
      } finally {
        process.kill(server, 'SIGCONT');
      }
      await eventually(
        () => outsideAsks('taken', 'db', 6379),
        (answered) => answered,
      );
      expect(await outsideAsks('taken', 'db', 8080)).toBe(false);
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
