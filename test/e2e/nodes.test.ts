// Three nodes on one machine as a user types it: the network model, a node that dies, a wire that is cut, and the end.
// TRELLIS_PROOF=long runs Services in every proxy mode that the kernel has; TRELLIS_LOAD_SECONDS=600 asks a Service all
// the time while it is updated and scaled; TRELLIS_SOAK_ROUNDS=20 starts, uses and ends the cluster as often.
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layoutOf } from '../../src/cluster/layout.js';
import { placeOf } from '../../src/cluster/nodes/localNode.js';
import { differences, lookAtMachine, type MachineState } from '../support/machine.js';
import { describeWith } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter', 'ip'] };
const LONG = process.env['TRELLIS_PROOF'] === 'long';
const NODES = ['one', 'one-2', 'one-3'] as const;
const FURTHER = ['one-2', 'one-3'];
const GRACE_SECONDS = 8;
const LOAD_SECONDS = Number(process.env['TRELLIS_LOAD_SECONDS'] ?? 0);
/** On each node. */
const LOAD_PODS = Number(process.env['TRELLIS_LOAD_PODS'] ?? 3);
const LOAD_REPLICAS = LOAD_PODS * NODES.length;
/** A machine of two cores makes or takes away about two pods a second. */
const SETTLE_MS = 120_000 + LOAD_REPLICAS * 3000;
const SOAK_ROUNDS = Number(process.env['TRELLIS_SOAK_ROUNDS'] ?? 0);

/** A page that tells who asked and who answered. */
const SERVE = [
  'mkdir -p /www/cgi-bin',
  'echo ok > /www/index.html',
  `printf '#!/bin/sh\\necho Content-Type: text/plain; echo; echo $REMOTE_ADDR $(hostname)\\n' > /www/cgi-bin/who`,
  'chmod +x /www/cgi-bin/who',
  "exec httpd -f -p '[::]:8080' -h /www",
].join('; ');

const container = {
  name: 'web',
  image: 'trellis.local/busybox',
  command: ['sh', '-c', SERVE],
  // Ends at once, but not before the Service has forgotten it.
  lifecycle: { preStop: { exec: { command: ['sleep', '3'] } } },
  readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
};

/** One pod on each node; it stays there whatever becomes of the node. */
const everywhere = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'every' },
  spec: {
    selector: { matchLabels: { app: 'every' } },
    template: { metadata: { labels: { app: 'every' } }, spec: { containers: [container] } },
  },
};

const LEAVE_SOON = ['not-ready', 'unreachable'].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 1,
}));

/** Pods that are made elsewhere as soon as their node is lost. */
const movable = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'movable' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'movable' } },
    template: {
      metadata: { labels: { app: 'movable' } },
      spec: { containers: [container], tolerations: LEAVE_SOON, terminationGracePeriodSeconds: 10 },
    },
  },
};

/** Goes on answering until the last proxy has forgotten it. */
const busy = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'busy' },
  spec: {
    replicas: LOAD_REPLICAS,
    selector: { matchLabels: { app: 'busy' } },
    template: {
      metadata: { labels: { app: 'busy' } },
      spec: {
        containers: [{ ...container, lifecycle: { preStop: { exec: { command: ['sleep', '10'] } } } }],
        terminationGracePeriodSeconds: 30,
      },
    },
  },
};

const serviceOf = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: {
    ipFamilyPolicy: 'PreferDualStack',
    selector: { app: name },
    ports: [{ port: 80, targetPort: 8080 }],
  },
});

/** Said once for all nodes of the machine. */
const kubelet = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  maxPods: 107,
};

interface PodView {
  readonly name: string;
  readonly ip: string;
  /** Of both families, where the cluster has both. */
  readonly ips: readonly string[];
  readonly node: string;
  readonly container: string;
}

describeWith(NEEDS, 'three nodes on one machine', () => {
  let cluster: TestCluster;
  let before: MachineState;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    before = await look();
  });
  afterAll(() => cluster?.remove());

  const look = () => lookAtMachine({ ...cluster.place, nodes: FURTHER });
  const layout = () => layoutOf(cluster.dataDir);
  /** A network as a machine's own programs see it. */
  const networkOf = (node: string) =>
    node === 'one' ? cluster.netns.path : path.join(layout().netnsDir, node);
  const onNode = async (node: string, ...words: string[]) =>
    (await cluster.run(['nsenter', `--net=${networkOf(node)}`, ...words])).stdout;
  /** Without the start of another Node for every question. */
  const kubectl = async (...words: string[]) => {
    const answer = await cluster.run(['kubectl', '--kubeconfig', layout().adminKubeconfig, ...words]);
    if (answer.code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${answer.stderr}${answer.stdout}`);
    return answer.stdout;
  };
  const inPod = ({ name }: PodView, script: string) =>
    kubectl('exec', name, '--', 'timeout', '60', 'sh', '-c', script);
  const apply = async (...objects: object[]) => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const words = ['kubectl', '--kubeconfig', layout().adminKubeconfig, 'apply', '-f', '-'];
    const answer = await cluster.run(words, { input: list });
    expect(answer).toMatchObject({ code: 0 });
  };

  async function readyPods(app: string): Promise<PodView[]> {
    const { items } = JSON.parse(await kubectl('get', 'pods', '-l', `app=${app}`, '-o', 'json'));
    return items
      .filter(
        ({ metadata, status }: PodObject) =>
          metadata.deletionTimestamp === undefined &&
          status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      )
      .map(({ metadata, spec, status }: PodObject) => ({
        name: metadata.name,
        ip: status.podIP,
        ips: status.podIPs.map(({ ip }) => ip),
        node: spec.nodeName,
        container: status.containerStatuses[0]?.containerID ?? '',
      }));
  }

  const podOnEach = () =>
    eventually(
      () => readyPods('every'),
      (pods) => pods.length === NODES.length,
    );

  async function nodes(): Promise<Record<string, { ready: boolean; address: string; room: string }>> {
    const { items } = JSON.parse(await kubectl('get', 'nodes', '-o', 'json'));
    return Object.fromEntries(
      items.map(({ metadata, status }: NodeObject) => [
        metadata.name,
        {
          ready: status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
          address: status.addresses.find(({ type }) => type === 'InternalIP')?.address ?? '',
          room: status.capacity.pods,
        },
      ]),
    );
  }

  const becomes = (node: string, ready: boolean) =>
    eventually(nodes, (all) => all[node]?.ready === ready, 90_000);

  async function endpointsOf(service: string): Promise<string[]> {
    const addresses = '{.subsets[*].addresses[*].ip}';
    const text = await kubectl('get', 'endpoints', service, '-o', `jsonpath=${addresses}`);
    return text.split(' ').filter((word) => word !== '');
  }

  const bringUp = async (...more: string[]) => {
    const { code, stdout, stderr } = await cluster.trellis('up', '--detach', '--timeout', '110', ...more);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  const nothingIsLeft = () =>
    eventually(
      async () => differences(before, await look()),
      (left) => left.length === 0,
      60_000,
    );

  test('are Ready, each with an address, processes and logs of its own', async () => {
    const file = path.join(path.dirname(cluster.dataDir), 'cluster.yaml');
    writeFileSync(file, JSON.stringify(kubelet));
    const said = await bringUp(
      '--config',
      file,
      '--nodes',
      '3',
      '--dual-stack',
      '--node-name',
      'one',
      '--node-grace-seconds',
      String(GRACE_SECONDS),
    );
    for (const node of FURTHER) expect(said).toMatch(new RegExp(`✓ node ${node} +\\d`));
    expect(said).toContain('The 3 nodes are Ready after');
    const all = await nodes();
    expect(Object.keys(all).sort()).toEqual([...NODES]);
    expect(Object.values(all).every(({ ready }) => ready)).toBe(true);
    expect(new Set(Object.values(all).map(({ address }) => address)).size).toBe(3);
    expect(Object.values(all).map(({ room }) => room)).toEqual(['107', '107', '107']);

    const { code, stdout } = await cluster.trellis('status');
    expect(code).toBe(0);
    for (const node of FURTHER) expect(stdout).toMatch(new RegExp(`${node} +process \\d+ +\\d+ MB`));
    for (const node of NODES) expect(stdout).toContain(`node ${node}: Ready`);
    expect((await cluster.trellis('logs', 'one-2/agent')).stdout).toContain('registered the node');
    // The comparison that must be empty after down sees the nodes now.
    const now = differences(before, await look());
    for (const kind of ['processes', 'links', 'cgroups', 'nft'])
      expect(now.filter((line) => line.startsWith(kind))).not.toEqual([]);
  });

  test('run pods that reach one another and every node under their own addresses', async () => {
    await apply(everywhere, serviceOf('every'));
    const pods = await podOnEach();
    expect(pods.map(({ node }) => node).sort()).toEqual([...NODES]);
    const pages = pods.flatMap(({ ips }) => ips.map((ip) => `http://${urlHost(ip)}:8080/cgi-bin/who`));
    const twice = pods.flatMap(({ name }) => [name, name]);
    const fetchAll = (urls: readonly string[]) => urls.map((url) => `wget -q -O - ${url}`).join('; ');
    for (const pod of pods) {
      const answers = (await inPod(pod, fetchAll(pages)))
        .replaceAll(/\[|\]|::ffff:/g, '')
        .trim()
        .split('\n');
      expect(answers).toEqual(twice.map((name, at) => `${pod.ips[at % 2]} ${name}`));
    }
    for (const node of NODES) {
      const answers = await onNode(node, 'busybox', 'timeout', '60', 'busybox', 'sh', '-c', fetchAll(pages));
      expect(
        answers
          .trim()
          .split('\n')
          .map((line) => line.split(' ')[1]),
      ).toEqual(twice);
    }
    // From a pod to what a node itself runs: here its proxy's health.
    const health = Object.values(await nodes()).map(({ address }) => `http://${address}:10256/healthz`);
    for (const pod of pods)
      expect((await inPod(pod, fetchAll(health))).match(/"nodeEligible":true/g)).toHaveLength(NODES.length);
  });

  test('run commands and show logs on every node', async () => {
    for (const pod of await podOnEach()) {
      expect(await inPod(pod, 'echo to the log > /proc/1/fd/1; hostname')).toBe(`${pod.name}\n`);
      await eventually(
        () => kubectl('logs', pod.name),
        (text) => text.includes('to the log'),
      );
    }
  });

  test('tell what they and their pods use', async () => {
    const pods = await podOnEach();
    for (const [what, names] of [
      ['nodes', [...NODES]],
      ['pods', pods.map(({ name }) => name)],
    ] as const)
      await eventually(
        async () => (await kubectl('top', what, '--no-headers')).trim().split('\n'),
        (rows) =>
          rows.length === NODES.length &&
          names.every((name) => rows.some((row) => row.startsWith(`${name} `) && /\d+m +.*\d+Mi/.test(row))),
      );
  });

  /** A Service by its name from a pod of every node, and by its addresses from every node, until all of its pods answered. */
  async function serviceAnswersEverywhere(): Promise<void> {
    const pods = await podOnEach();
    const names = pods.map(({ name }) => name).sort();
    const addresses = await kubectl('get', 'service', 'every', '-o', 'jsonpath={.spec.clusterIPs[*]}');
    const ask = (url: string) => `for i in $(seq 20); do wget -q -O - ${url}/cgi-bin/who; done`;
    const answering = (text: string) =>
      [
        ...new Set(
          text
            .trim()
            .split('\n')
            .map((line) => line.split(' ')[1] ?? ''),
        ),
      ].sort();
    for (const pod of pods)
      await eventually(
        async () => answering(await inPod(pod, ask('http://every.default.svc.cluster.local'))),
        (found) => found.join() === names.join(),
      );
    for (const node of NODES)
      for (const address of addresses.split(' '))
        await eventually(
          async () => answering(await onNode(node, 'busybox', 'sh', '-c', ask(`http://${urlHost(address)}`))),
          (found) => found.join() === names.join(),
        );
  }

  test('answer through a Service by its name from every node', serviceAnswersEverywhere);

  test('know names of the cluster in the network of every node, whichever address a question comes from', async () => {
    const jsonpath = 'jsonpath={.spec.clusterIP}';
    const server = await kubectl('-n', 'kube-system', 'get', 'service', 'kube-dns', '-o', jsonpath);
    const wanted = await kubectl('get', 'service', 'kubernetes', '-o', jsonpath);
    for (const node of NODES)
      await eventually(
        () => onNode(node, 'busybox', 'nslookup', 'kubernetes.default.svc.cluster.local', server),
        (found) => found.includes(`Address: ${wanted}\n`),
      );
  });

  test('lose a node whose wire is cut, and have it back with the same containers', async () => {
    const pods = await podOnEach();
    const wire = placeOf(layout(), 'one-3').layout.underlayPort;
    await cluster.netns.run('ip', 'link', 'set', wire, 'down');
    await becomes('one-3', false);
    const others = pods.filter(({ node }) => node !== 'one-3').map(({ ip }) => ip);
    await eventually(
      async () => (await endpointsOf('every')).sort().join(),
      (found) => found === others.sort().join(),
    );
    await cluster.netns.run('ip', 'link', 'set', wire, 'up');
    await becomes('one-3', true);
    await eventually(
      () => endpointsOf('every'),
      (found) => found.length === NODES.length,
    );
    expect((await podOnEach()).map((pod) => pod.container).sort()).toEqual(
      pods.map((pod) => pod.container).sort(),
    );
    const [far = pods[0]] = pods.filter(({ node }) => node === 'one-3');
    expect(
      await onNode('one', 'busybox', 'wget', '-q', '-O', '-', `http://${far?.ip}:8080/cgi-bin/who`),
    ).toContain(far?.name);
  });

  test('make the pods of a killed node elsewhere, and take it back when it starts again', async () => {
    await apply(movable, serviceOf('movable'));
    const placed = await eventually(
      () => readyPods('movable'),
      (pods) => pods.length === 3,
    );
    expect(placed.some(({ node }) => node === 'one-2')).toBe(true);
    const processes = await cluster.processes();
    const [supervisor = 0, node = 0] = [processes['supervisor'], processes['one-2']];
    // One that is stopped starts nothing again.
    process.kill(supervisor, 'SIGSTOP');
    try {
      process.kill(node, 'SIGKILL');
      await becomes('one-2', false);
      const moved = await eventually(
        () => readyPods('movable'),
        (pods) => pods.length === 3 && pods.every((pod) => pod.node !== 'one-2'),
        120_000,
      );
      await eventually(
        async () => (await endpointsOf('movable')).sort().join(),
        (found) =>
          found ===
          moved
            .map(({ ip }) => ip)
            .sort()
            .join(),
      );
    } finally {
      process.kill(supervisor, 'SIGCONT');
    }
    await becomes('one-2', true);
    await podOnEach();
    await serviceAnswersEverywhere();
  });

  test('keep the pod networks of a deleted Node, and make its pods again when it gets others', async () => {
    const ranges = () => kubectl('get', 'node', 'one-3', '-o', 'jsonpath={.spec.podCIDRs}');
    const own = await ranges();
    const answersIn = async (podCidr: string) => {
      const pods = await eventually(podOnEach, (all) =>
        all.some(({ node, ip }) => node === 'one-3' && ip.startsWith(podCidr)),
      );
      const far = pods.find(({ node }) => node === 'one-3');
      const ask = ['busybox', 'wget', '-q', '-O', '-', `http://${far?.ip}:8080/cgi-bin/who`];
      await eventually(
        () => onNode('one', ...ask),
        (said) => said.includes(far?.name ?? 'nobody'),
      );
    };
    await kubectl('delete', 'node', 'one-3');
    await becomes('one-3', true);
    expect(await ranges()).toBe(own);
    await answersIn(JSON.parse(own)[0].replace(/0\/.*/, ''));

    const spec = { podCIDR: '10.244.77.0/24', podCIDRs: ['10.244.77.0/24', 'fd00:10:244:77::/64'] };
    const other = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'one-3' }, spec };
    const verb = `kubectl --kubeconfig ${layout().adminKubeconfig}`;
    // The kubelet may be the first to make it again.
    await eventually(
      () =>
        cluster.run(['sh', '-c', `${verb} delete node one-3 --ignore-not-found; ${verb} create -f -`], {
          input: JSON.stringify(other),
        }),
      ({ code }) => code === 0,
    );
    await becomes('one-3', true);
    await answersIn('10.244.77.');
    expect(await onNode('one-3', 'ip', '-4', 'address')).not.toContain('inet 10.244.2.');
  });

  test('leave nothing after down', async () => {
    expect(await cluster.trellis('down')).toMatchObject({ code: 0, stderr: '' });
    await nothingIsLeft();
    expect(existsSync(placeOf(layout(), 'one-3').layout.dataDir)).toBe(true);
  });

  test('become two when so asked, with the pods of the third made elsewhere', async () => {
    await bringUp('--nodes', '2');
    expect(Object.keys(await nodes()).sort()).toEqual(['one', 'one-2']);
    expect(existsSync(placeOf(layout(), 'one-3').layout.dataDir)).toBe(false);
    await eventually(
      () => readyPods('movable'),
      (pods) => pods.length === 3 && pods.every(({ node }) => node !== 'one-3'),
    );
  });

  test('leave nothing after everything was killed, either', async () => {
    for (const pid of Object.values(await cluster.processes())) process.kill(pid, 'SIGKILL');
    expect(await cluster.trellis('down', '--purge')).toMatchObject({ code: 0, stderr: '' });
    await nothingIsLeft();
    expect(existsSync(cluster.dataDir)).toBe(false);
  });

  const comeAndGo = async (use: () => Promise<void>, ...more: string[]) => {
    await bringUp('--nodes', '3', '--node-name', 'one', ...more);
    await apply(everywhere, serviceOf('every'));
    await serviceAnswersEverywhere();
    await use();
    expect(await cluster.trellis('down', '--purge')).toMatchObject({ code: 0, stderr: '' });
    await nothingIsLeft();
  };

  describe.runIf(LONG).each(['iptables', 'userspace'])('with the proxy mode %s', (mode) => {
    test('answer through a Service, too', () => comeAndGo(async () => {}, '--proxy-mode', mode));
  });

  describe.runIf(SOAK_ROUNDS > 0)('again and again', () => {
    test.each(Array.from({ length: SOAK_ROUNDS }, (_, at) => at + 1))('leave nothing in round %i', () =>
      comeAndGo(async () => {}),
    );
  });

  test.runIf(LOAD_SECONDS > 0)(
    'answer every request while what serves it is updated and scaled',
    () => comeAndGo(updateUnderLoad),
    LOAD_SECONDS * 1000 + 5 * SETTLE_MS,
  );

  async function updateUnderLoad(): Promise<void> {
    await apply(busy, serviceOf('busy'));
    await settled();
    const askers = await podOnEach();
    // The name is looked up once: what is asked for here is the Service.
    const address = await kubectl('get', 'service', 'busy', '-o', 'jsonpath={.spec.clusterIP}');
    const ask = `wget -q -O /dev/null http://${address}/ && echo ok || echo failed`;
    const asking = `while [ ! -e /tmp/enough ]; do ${ask}; done > /tmp/answers 2>&1; touch /tmp/done`;
    for (const pod of askers)
      await inPod(pod, `rm -f /tmp/enough /tmp/done; (${asking}) < /dev/null > /dev/null 2>&1 &`);
    const scaleTo = async (replicas: number) => {
      await kubectl('scale', 'deployment', 'busy', `--replicas=${replicas}`);
      await settled();
    };
    const until = Date.now() + LOAD_SECONDS * 1000;
    let rounds = 0;
    do {
      await kubectl('rollout', 'restart', 'deployment', 'busy');
      await settled();
      await scaleTo(Math.ceil(LOAD_REPLICAS / 3));
      await scaleTo(LOAD_REPLICAS);
      rounds += 1;
    } while (Date.now() < until);
    console.info(`${LOAD_REPLICAS} pods were updated ${rounds} times and scaled ${2 * rounds} times`);
    for (const pod of askers) {
      await inPod(pod, 'touch /tmp/enough; while [ ! -e /tmp/done ]; do sleep 0.2; done');
      const counts = await inPod(pod, 'sort /tmp/answers | uniq -c | sort -rn | head -5');
      console.info(`${pod.node}: ${counts.trim()}`);
      expect(counts.trim(), `from ${pod.node}`).toMatch(/^\d+ ok$/);
    }
  }

  const settled = () =>
    eventually(
      async () => (await cluster.run([...ROLLOUT, '--kubeconfig', layout().adminKubeconfig])).stdout,
      (said) => said.includes('successfully rolled out'),
      SETTLE_MS,
    );
});

const ROLLOUT = ['kubectl', 'rollout', 'status', 'deployment', 'busy', '--timeout=100s'];

const urlHost = (ip: string) => (ip.includes(':') ? `[${ip}]` : ip);

interface PodObject {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIP: string;
    readonly podIPs: readonly { readonly ip: string }[];
    readonly conditions?: readonly { type: string; status: string }[];
    readonly containerStatuses: readonly { containerID: string }[];
  };
}

interface NodeObject {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions: readonly { type: string; status: string }[];
    readonly addresses: readonly { type: string; address: string }[];
    readonly capacity: { readonly pods: string };
  };
}
