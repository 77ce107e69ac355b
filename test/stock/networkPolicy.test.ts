// Our policy engine on a node of which everything else is stock Kubernetes: the chapter's examples beside kube-proxy in each
// of its modes, by connections between pods that a stock kubelet and somebody's bridge have made.
// Guarantees: the engine has no more rights than its help names; what it leaves behind is what it was told to leave.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IMAGE } from '../support/imageArchive.js';
import { DENY_INGRESS } from '../support/policy/chapter.js';
import {
  CHAPTER,
  CHAPTER_PODS,
  type ChapterPlace,
  type ChapterPod,
  DATABASE,
  FIRST_PODS,
  MINE,
  OUTSIDE,
  roleOf,
  walkPage,
} from '../support/policy/chapterWalk.js';
import { type OutsideMachines, outsideOf } from '../support/policy/outside.js';
import { until } from '../support/until.js';
import { NODE, type Part, POLICY_USER, StockMachine } from './machine.js';

const SERVICE = '10.96.0.80';
/** Where nothing may come; what is allowed has the time that it needs. */
const [SILENCE_S, PATIENCE_S] = [2, 20];
const SERVE = '/bin/nc -ll -p 6379 -e /bin/echo hello & exec /bin/nc -ll -p 8080 -e /bin/echo hello';

const podOf = (name: ChapterPod) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: CHAPTER_PODS[name].namespace, labels: { role: roleOf(name) } },
  spec: {
    terminationGracePeriodSeconds: 0,
    dnsPolicy: 'Default',
    containers: [
      {
        name: 'main',
        image: IMAGE,
        imagePullPolicy: 'IfNotPresent',
        command: ['/bin/sh', '-c', SERVE],
        // The node asks its pods whatever their policies say.
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      },
    ],
  },
});
/** What the help of the command says that its user needs. */
const list = (apiGroup: string, ...resources: readonly string[]) => ({
  apiGroups: [apiGroup],
  resources,
  verbs: ['list', 'watch'],
});
const RIGHTS = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: POLICY_USER },
    rules: [
      list('', 'pods', 'namespaces', 'nodes'),
      list('networking.k8s.io', 'networkpolicies'),
      list('apiextensions.k8s.io', 'customresourcedefinitions'),
      list('policy.networking.k8s.io', 'clusternetworkpolicies'),
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: POLICY_USER },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: POLICY_USER },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: POLICY_USER }],
  },
];

describe('network policies beside stock Kubernetes', () => {
  let machine: StockMachine;
  let outside: OutsideMachines;
  const addresses = new Map<string, string>([
    ['target', OUTSIDE.target],
    ['service', SERVICE],
  ]);
  const ip = (name: string) => addresses.get(name) ?? '';
  const PARTS = ['apiserver', 'controller-manager', 'scheduler', 'kubelet', 'proxy'] as const;
  const told = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const parts = [...PARTS, 'network-policy'] as const satisfies readonly (Part | 'network-policy')[];
      const lines = parts.map((part) => `--- ${part}:\n${machine.output(part)}`);
      throw new Error(`${error instanceof Error ? error.message : error}\n${lines.join('\n')}`, {
        cause: error,
      });
    }
  };
  const started = async (...pods: readonly ChapterPod[]) => {
    await machine.apply(...pods.map(podOf));
    for (const name of pods) {
      const { namespace } = CHAPTER_PODS[name];
      await until(async () => {
        const shown = await machine.get<ShownPod>('pod', name, '-n', namespace);
        expect(shown.status.conditions).toContainEqual(
          expect.objectContaining({ type: 'Ready', status: 'True' }),
        );
        addresses.set(name, shown.status.podIP);
      });
    }
  };
  const enforcing = async () => {
    machine.startPolicyEngine();
    await until(() => expect(machine.output('network-policy')).toContain('enforcing'));
  };
  const asks = async (from: ChapterPod, to: string, port: number, patienceS: number) => {
    const asking = `echo 'GET / HTTP/1.0' | /bin/nc -w ${patienceS} ${to} ${port}`;
    const words = ['exec', '-n', CHAPTER_PODS[from].namespace, from, '--', '/bin/sh', '-c', asking];
    return (await machine.kubectl(...words).catch(() => '')) !== '';
  };
  const placeOf = (mode: string): ChapterPlace => ({
    mode,
    put: async (example) => {
      await machine.applyText(example);
    },
    clear: async () => void (await machine.kubectl('delete', 'networkpolicies', '--all', '--all-namespaces')),
    start: started,
    label: async (pod, role) =>
      void (await machine.kubectl('label', 'pod', pod, `role=${role}`, '--overwrite')),
    reaches: async ({ from, to, port }, isExpected) => {
      const patienceS = isExpected ? PATIENCE_S : SILENCE_S;
      if (from === 'taken' || from === 'excepted') return outside.reach(OUTSIDE[from], ip(to), port);
      if (from !== 'node') return asks(from, ip(to), port, patienceS);
      const asking = `busybox nc -w ${patienceS} ${ip(to)} ${port} < /dev/null`;
      return (await machine.run('sh', '-c', asking).catch(() => '')).includes('hello');
    },
  });

  beforeAll(async () => {
    machine = await StockMachine.start();
    await told(async () => {
      await machine.startPart('apiserver', 'stock');
      await machine.apply(...RIGHTS, MINE);
      // It comes before the Node, whose pods' networks it follows from then on.
      await enforcing();
      for (const part of ['controller-manager', 'scheduler', 'kubelet'] as const)
        await machine.startPart(part, 'stock');
      await until(async () => {
        expect(await machine.kubectl('get', 'node', NODE, '--no-headers')).toMatch(/ Ready /);
        await machine.get('serviceaccount', 'default');
        await machine.get('serviceaccount', 'default', '-n', MINE.metadata.name);
      });
      await machine.apply({ ...DATABASE, spec: { ...DATABASE.spec, clusterIP: SERVICE } });
      await started(...FIRST_PODS);
      outside = await outsideOf(machine.cri.host);
    });
  });
  afterAll(async () => {
    await outside?.remove();
    await machine?.stop();
  });

  describe.each(['nftables', 'iptables'])('kube-proxy in the %s mode', (mode) => {
    const place = placeOf(mode);
    beforeAll(async () => {
      await told(async () => {
        await machine.startPart('proxy', 'stock', [`--proxy-mode=${mode}`]);
        await until(async () => expect(await asks('other', SERVICE, 80, SILENCE_S)).toBe(true));
      });
    });
    afterAll(async () => {
      await machine.kubectl('delete', 'pod', 'late', '--ignore-not-found');
      await machine.endPart('proxy');
    });

    test.each(CHAPTER.map((page) => [page.name, page] as const))('%s', (_, page) =>
      told(() => walkPage(place, page)),
    );

    test('a pod that starts while the engine is away is closed until it is back', () =>
      told(async () => {
        await machine.kubectl('delete', 'networkpolicies', '--all', '--all-namespaces');
        await machine.kubectl('delete', 'pod', 'late', '--ignore-not-found');
        await until(async () => expect(await asks('other', ip('db'), 6379, SILENCE_S)).toBe(true));
        await machine.endPart('network-policy', 'KILL');
        await started('late');
        expect(await asks('other', ip('late'), 8080, SILENCE_S)).toBe(false);
        expect(await asks('late', ip('other'), 8080, SILENCE_S)).toBe(false);
        expect(await asks('other', SERVICE, 80, PATIENCE_S)).toBe(true);
        await enforcing();
        expect(await asks('other', ip('late'), 8080, PATIENCE_S)).toBe(true);
        expect(await asks('late', ip('other'), 8080, PATIENCE_S)).toBe(true);
      }));
  });

  test('leaves no rule behind after --cleanup', () =>
    told(async () => {
      await machine.applyText(DENY_INGRESS);
      await until(async () => expect(await asks('other', ip('db'), 8080, SILENCE_S)).toBe(false));
      await machine.endPart('network-policy');
      expect(await asks('other', ip('db'), 8080, SILENCE_S)).toBe(false);
      await machine.trellis('network-policy', '--cleanup');
      expect(await asks('other', ip('db'), 8080, PATIENCE_S)).toBe(true);
      expect(await machine.run('nft', 'list', 'tables')).not.toContain('trellis-policy');
    }));
});

interface ShownPod {
  readonly status: {
    readonly podIP: string;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
  };
}
