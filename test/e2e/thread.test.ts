// The quick start of the README, as a user types it, on real containerd with stock kubectl; and the same through a crash.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layoutOf } from '../../src/cluster/layout.js';
import { differences, lookAtMachine, type MachineState } from '../support/machine.js';
import { describeWith } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter'] };
const IMAGE = 'trellis.local/busybox';
const SERVE = ['--', 'httpd', '-f', '-p', '8080', '-h', '/etc'];

/** Answers what it is told, on as many connections as there are. */
const ECHO = ['nc', '-ll', '-p', '9000', '-e', 'cat'];

interface PodView {
  readonly name: string;
  readonly ip: string;
  readonly restarts: number;
  readonly containerId: string;
  readonly ready: boolean;
}

async function podsOf(cluster: TestCluster): Promise<PodView[]> {
  const { items } = JSON.parse(await cluster.kubectl('get', 'pods', '-l', 'app=web', '-o', 'json'));
  return items
    .filter(
      (pod: { metadata: { deletionTimestamp?: string } }) => pod.metadata.deletionTimestamp === undefined,
    )
    .map(
      (pod: {
        metadata: { name: string };
        status: {
          podIP: string;
          containerStatuses?: { restartCount: number; containerID: string; ready: boolean }[];
        };
      }) => {
        const [status] = pod.status.containerStatuses ?? [];
        return {
          name: pod.metadata.name,
          ip: pod.status.podIP,
          restarts: status?.restartCount ?? 0,
          containerId: status?.containerID ?? '',
          ready: status?.ready ?? false,
        };
      },
    );
}

const readyPods = (cluster: TestCluster, count: number) =>
  eventually(
    () => podsOf(cluster),
    (pods) => pods.length === count && pods.every(({ ready }) => ready),
  );

async function bringUp(cluster: TestCluster): Promise<void> {
  const { code, stdout, stderr } = await cluster.trellis('up', '--detach');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('The node is Ready after');
}

async function serviceAddress(cluster: TestCluster): Promise<string> {
  return cluster.kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
}

async function kubectlMinor(cluster: TestCluster): Promise<number> {
  const { clientVersion } = JSON.parse(await cluster.kubectl('version', '--client', '-o', 'json'));
  return Number.parseInt(clientVersion.minor, 10);
}

/** What `kubectl debug` asks of the API; before 1.22 kubectl asked in a form that is gone. */
async function addEphemeralContainer(cluster: TestCluster, name: string): Promise<void> {
  const pod = JSON.parse(await cluster.kubectl('get', 'pod', name, '-o', 'json'));
  pod.spec.ephemeralContainers = [
    {
      name: 'doctor',
      image: IMAGE,
      imagePullPolicy: 'IfNotPresent',
      targetContainerName: 'busybox',
      stdin: true,
      tty: true,
      command: ['sh', '-c', 'tty; ps'],
    },
  ];
  const file = path.join(path.dirname(cluster.dataDir), 'debugged.json');
  writeFileSync(file, JSON.stringify(pod));
  const at = `/api/v1/namespaces/default/pods/${name}/ephemeralcontainers`;
  await cluster.kubectl('replace', '--raw', at, '-f', file);
}

/** Addresses that are given out: host-local keeps a file for each. */
function givenAddresses(cluster: TestCluster): string[] {
  const networks = path.join(cluster.dataDir, 'cni', 'networks');
  if (!existsSync(networks)) return [];
  return readdirSync(networks)
    .flatMap((network) => readdirSync(path.join(networks, network)))
    .filter((name) => /^\d+\.\d+\.\d+\.\d+$/.test(name))
    .sort();
}

describeWith(NEEDS, 'the quick start', () => {
  let cluster: TestCluster;
  let before: MachineState;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    before = await lookAtMachine(cluster.place);
  });
  afterAll(() => cluster.remove());

  describe.each([1, 2])('round %i on the same machine', (round) => {
    test('brings a node up that is Ready', async () => {
      await bringUp(cluster);
      expect(await cluster.kubectl('get', 'nodes', '--no-headers')).toMatch(/^\S+\s+Ready\s/);
      const { code, stdout } = await cluster.trellis('status');
      expect(code).toBe(0);
      expect(stdout).toMatch(/server +process \d+ +\d+ MB/);
      // The proxy tells how it is, where kube-proxy does.
      expect(await cluster.get('http://127.0.0.1:10256/healthz')).toContain('"nodeEligible":true');
      expect(await cluster.get('http://127.0.0.1:10249/proxyMode')).toBe('nftables');
      // The comparison that must be empty after down sees what is there now.
      const now = differences(before, await lookAtMachine(cluster.place));
      for (const kind of ['processes', 'links', 'nft', 'files'])
        expect(now.filter((line) => line.startsWith(kind))).not.toEqual([]);
    });

    test('answers through a service, from the node and from a pod', async () => {
      const watch = cluster.follow('get', 'pods', '-o', 'wide', '-w');
      expect(
        await cluster.kubectl('create', 'deployment', 'web', `--image=${IMAGE}`, '--replicas=3', ...SERVE),
      ).toBe('deployment.apps/web created\n');
      expect(
        await cluster.kubectl('expose', 'deployment', 'web', '--port', '80', '--target-port', '8080'),
      ).toBe('service/web exposed\n');
      const pods = await readyPods(cluster, 3);
      const address = await serviceAddress(cluster);
      const names = pods.map(({ name }) => name);
      const answer = await eventually(
        () => cluster.get(`http://${address}/hostname`),
        (text) => text !== '',
      );
      expect(names).toContain(answer.trim());
      const [from = ''] = names;
      const inside = await cluster.kubectl(
        'exec',
        from,
        '--',
        'wget',
        '-q',
        '-O',
        '-',
        `http://${address}/hostname`,
      );
      expect(names).toContain(inside.trim());
      expect(names).toContain(
        (await cluster.kubectl('exec', from, '--', 'wget', '-q', '-O', '-', 'http://web/hostname')).trim(),
      );
      await eventually(
        async () => watch.said(),
        (text) => names.every((name) => text.includes(name) && text.includes('Running')),
      );
      await watch.stop();
    });

    test('describes, logs and runs commands', async () => {
      const [pod = { name: '' }] = await podsOf(cluster);
      const description = await cluster.kubectl('describe', 'pod', pod.name);
      expect(description).toMatch(/Scheduled .*Successfully assigned default\/web-/);
      expect(description).toMatch(/Container started/);
      const typed = await cluster.run(
        [
          process.execPath,
          'dist/src/cli/main.js',
          'kubectl',
          '--data-dir',
          cluster.dataDir,
          'exec',
          '-i',
          pod.name,
          '--',
          'cat',
        ],
        { input: 'typed words' },
      );
      expect(typed.stdout).toBe('typed words');
      const failed = await cluster.trellis('kubectl', 'exec', pod.name, '--', 'sh', '-c', 'exit 7');
      expect(failed.code).toBe(7);
      await cluster.kubectl('exec', pod.name, '--', 'sh', '-c', 'echo to the log > /proc/1/fd/1');
      const log = cluster.follow('logs', '-f', pod.name);
      await eventually(
        async () => log.said(),
        (text) => text.includes('to the log'),
      );
      await cluster.kubectl('exec', pod.name, '--', 'sh', '-c', 'echo once more > /proc/1/fd/1');
      await eventually(
        async () => log.said(),
        (text) => text.includes('once more'),
      );
      await log.stop();
    });

    test('tells what nodes and pods use', async () => {
      const top = (what: string) =>
        eventually(
          () => cluster.kubectl('top', what, '--no-headers'),
          (text) => /\d+m +(\d+% +)?\d+Mi/.test(text),
        );
      expect(await top('nodes')).toMatch(/%/);
      expect(await top('pods')).toMatch(/^web-/);
    });

    test.runIf(round === 1)('gives a pod users of its own where the runtime can', async () => {
      const { containerdState } = layoutOf(cluster.dataDir);
      // The root of such a pod is nobody on the node, and passes through all of these.
      for (let dir = containerdState; dir !== '/'; dir = path.dirname(dir))
        expect([dir, statSync(dir).mode & 0o011]).toEqual([dir, 0o011]);
      const script =
        'cat /proc/self/uid_map /var/run/secrets/kubernetes.io/serviceaccount/namespace; echo; sleep 10000';
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'mapped' },
        spec: {
          hostUsers: false,
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image: IMAGE, command: ['sh', '-c', script] }],
        },
      };
      const file = path.join(path.dirname(cluster.dataDir), 'mapped.json');
      writeFileSync(file, JSON.stringify(pod));
      await cluster.kubectl('create', '-f', file);
      const { items } = JSON.parse(await cluster.kubectl('get', 'nodes', '-o', 'json'));
      if (items[0].status.runtimeHandlers?.[0].features.userNamespaces === true) {
        await cluster.kubectl('wait', '--for=condition=Ready', 'pod/mapped', '--timeout=60s');
        await eventually(
          () => cluster.kubectl('logs', 'mapped'),
          (said) => /^\s*0\s+[1-9]\d{4,}\s+65536\ndefault\n$/.test(said),
        );
      } else
        await eventually(
          () => cluster.kubectl('get', 'events', '--field-selector', 'involvedObject.name=mapped'),
          (said) => said.includes('runtime does not support user namespaces'),
        );
      await cluster.kubectl('delete', 'pod', 'mapped');
    });

    test('gives a shell a terminal', async () => {
      const [pod = { name: '' }] = await podsOf(cluster);
      const shell = `${process.execPath} dist/src/cli/main.js kubectl --data-dir ${cluster.dataDir} exec -it ${pod.name} -- tty`;
      const { stdout } = await cluster.run(['script', '-qec', shell, '/dev/null'], { input: '' });
      expect(stdout).toMatch(/\/dev\/pts\/\d+/);
    });

    test.runIf(round === 1)('lets a person look into a running pod', async () => {
      const [pod = { name: '' }] = await podsOf(cluster);
      const kubectl = `${process.execPath} dist/src/cli/main.js kubectl --data-dir ${cluster.dataDir}`;
      if ((await kubectlMinor(cluster)) >= 22) {
        const words = `debug -it ${pod.name} --image=${IMAGE} --image-pull-policy=IfNotPresent --target=busybox -c doctor -- sh`;
        const typing = { input: 'tty; ps; exit\n' };
        await cluster.run(['script', '-qec', `${kubectl} ${words}`, '/dev/null'], typing);
      } else await addEphemeralContainer(cluster, pod.name);
      const state = async () =>
        JSON.parse(await cluster.kubectl('get', 'pod', pod.name, '-o', 'json')).status
          .ephemeralContainerStatuses?.[0]?.state;
      await eventually(state, (is) => is?.terminated !== undefined);
      expect((await state()).terminated.exitCode).toBe(0);
      // A terminal of its own, and the processes of the container that it looks into.
      const seen = await cluster.kubectl('logs', pod.name, '-c', 'doctor');
      expect(seen).toMatch(/\/dev\/pts\/\d+/);
      expect(seen).toContain('httpd -f -p 8080');
    });

    test('scales and restarts a rollout', async () => {
      await cluster.kubectl('scale', 'deployment', 'web', '--replicas=2');
      const kept = await readyPods(cluster, 2);
      await cluster.kubectl('rollout', 'restart', 'deployment', 'web');
      expect(await cluster.kubectl('rollout', 'status', 'deployment', 'web', '--timeout=90s')).toContain(
        'successfully rolled out',
      );
      const after = await readyPods(cluster, 2);
      expect(after.map(({ name }) => name)).not.toContain(kept[0]?.name);
      expect(await cluster.get(`http://${await serviceAddress(cluster)}/hostname`)).toMatch(/^web-/);
    });

    test.runIf(round === 1)('copies files, forwards a port, goes back and drains', async () => {
      const [pod = { name: '' }] = await readyPods(cluster, 2);
      const file = path.join(path.dirname(cluster.dataDir), 'copied');
      writeFileSync(file, 'carried over\n');
      await cluster.kubectl('cp', file, `${pod.name}:/tmp/copied`);
      expect(await cluster.kubectl('exec', pod.name, '--', 'cat', '/tmp/copied')).toBe('carried over\n');
      await cluster.kubectl('cp', `${pod.name}:/tmp/copied`, `${file}-back`);
      expect(readFileSync(`${file}-back`, 'utf8')).toBe('carried over\n');

      const forward = cluster.follow('port-forward', 'service/web', ':80');
      const told = await eventually(
        async () => /127\.0\.0\.1:(\d+) ->/.exec(forward.said())?.[1],
        (port) => port !== undefined,
      );
      expect(await cluster.get(`http://127.0.0.1:${told}/hostname`)).toMatch(/^web-/);
      await forward.stop();

      await cluster.kubectl('set', 'image', 'deployment', 'web', '*=trellis.local/nothing');
      await cluster.kubectl('rollout', 'undo', 'deployment', 'web');
      await cluster.kubectl('rollout', 'status', 'deployment', 'web', '--timeout=90s');
      const [node = ''] = (await cluster.kubectl('get', 'nodes', '-o', 'name')).trim().split('/').slice(1);
      await cluster.kubectl(
        'drain',
        node,
        '--ignore-daemonsets',
        '--force',
        '--grace-period=1',
        '--timeout=90s',
      );
      await eventually(
        () => podsOf(cluster),
        (pods) => pods.length === 2 && pods.every(({ ready, ip }) => !ready && ip === undefined),
      );
      await cluster.kubectl('uncordon', node);
      await readyPods(cluster, 2);
    });

    test('deletes what was made, and gives the addresses back', async () => {
      await cluster.kubectl('delete', 'deployment,service', 'web');
      // The collector asks every pod to end; they would take their whole grace, since their program ignores it.
      const kept = '{{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}';
      await eventually(
        () => cluster.kubectl('get', 'pods', '-o', `go-template=${kept}`),
        (text) => text.trim() === '',
        90_000,
      );
      await cluster.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=false');
      await eventually(
        () => cluster.kubectl('get', 'pods', '-o', 'name'),
        (text) => text === '',
        90_000,
      );
      expect(givenAddresses(cluster)).toEqual([]);
    });

    test('leaves nothing on the machine after down', async () => {
      const down = await cluster.trellis('down', ...(round === 2 ? ['--purge'] : []));
      expect(down).toMatchObject({ code: 0, stderr: '' });
      await eventually(
        async () => differences(before, await lookAtMachine(cluster.place)),
        (left) => left.length === 0,
        60_000,
      );
      expect(existsSync(cluster.dataDir)).toBe(round === 1);
    });
  });
});

describeWith(NEEDS, 'a cluster of both families, as one file says', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    await cluster.netns.run('ip', 'address', 'add', 'fd00:99::1/64', 'dev', 'eth0', 'nodad');
  });
  afterAll(() => cluster.remove());

  test('answers through both addresses of a Service, and keeps what the file said', async () => {
    const file = path.join(path.dirname(cluster.dataDir), 'cluster.yaml');
    const documents = [
      {
        apiVersion: 'trellis.local/v1alpha1',
        kind: 'ClusterConfiguration',
        dualStack: true,
        nonMasqueradeCidrs: ['192.168.77.0/24', 'fd00:77::/64'],
        nodeName: 'both',
      },
      { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 17 },
    ];
    writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n---\n'));
    expect(await cluster.trellis('up', '--detach', '--config', file)).toMatchObject({ code: 0, stderr: '' });
    const of = async (kind: string, template: string) =>
      (await cluster.kubectl('get', kind, '-o', `jsonpath=${template}`)).split(' ');
    expect(await of('node/both', '{.status.capacity.pods} {.status.addresses[*].address}')).toEqual([
      '17',
      '192.168.99.1',
      'fd00:99::1',
      'both',
    ]);
    const { subnetFile } = layoutOf(cluster.dataDir);
    expect(readFileSync(subnetFile, 'utf8').split('\n')).toEqual([
      'FLANNEL_NETWORK=10.244.0.0/16',
      'FLANNEL_SUBNET=10.244.0.1/24',
      'FLANNEL_IPV6_NETWORK=fd00:10:244::/56',
      'FLANNEL_IPV6_SUBNET=fd00:10:244::1/64',
      'FLANNEL_MTU=1430',
      'FLANNEL_IPMASQ=true',
      '',
    ]);
    const rules = await cluster.netns.run('nft', 'list', 'ruleset');
    for (const beyond of ['ip daddr != 192.168.77.0/24', 'ip6 daddr != fd00:77::/64'])
      expect(rules).toContain(beyond);
    await cluster.kubectl('create', 'deployment', 'web', `--image=${IMAGE}`, '--replicas=2', ...SERVE);
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: {
        ipFamilyPolicy: 'RequireDualStack',
        selector: { app: 'web' },
        ports: [{ port: 80, targetPort: 8080 }],
      },
    };
    writeFileSync(file, JSON.stringify(service));
    await cluster.kubectl('apply', '-f', file);
    const [pod = { name: '' }] = await readyPods(cluster, 2);
    const [four, six] = await of('service/web', '{.spec.clusterIPs[*]}');
    for (const url of [`http://${four}/hostname`, `http://[${six}]/hostname`]) {
      const answer = await eventually(
        () => cluster.get(url),
        (text) => text !== '',
      );
      expect(answer).toMatch(/^web-/);
      expect(await cluster.kubectl('exec', pod.name, '--', 'wget', '-q', '-O', '-', url)).toMatch(/^web-/);
    }
  });
});

describeWith(NEEDS, 'every process killed in the middle', () => {
  let cluster: TestCluster;
  let before: MachineState;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    before = await lookAtMachine(cluster.place);
    await bringUp(cluster);
    await cluster.kubectl('create', 'deployment', 'web', `--image=${IMAGE}`, '--replicas=3', ...SERVE);
    await cluster.kubectl('expose', 'deployment', 'web', '--port', '80', '--target-port', '8080');
    await readyPods(cluster, 3);
  });
  afterAll(() => cluster.remove());

  const killAll = async () => {
    const pids = Object.values(await cluster.processes());
    expect(pids.length).toBe(4);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
  };

  test('leaves the containers running, and the next start finds them', async () => {
    const running = await podsOf(cluster);
    const address = await serviceAddress(cluster);
    await killAll();
    expect(await cluster.get(`http://${address}/hostname`)).toMatch(/^web-/);
    await bringUp(cluster);
    const found = await readyPods(cluster, 3);
    const identity = ({ name, ip, containerId, restarts }: PodView) => ({ name, ip, containerId, restarts });
    expect(found.map(identity)).toEqual(running.map(identity));
    expect(await cluster.get(`http://${address}/hostname`)).toMatch(/^web-/);
    expect(givenAddresses(cluster)).toEqual(found.map(({ ip }) => ip).sort());
  });

  test('one by one they come back by themselves, and a connection through the Service goes on', async () => {
    await cluster.kubectl('run', 'echo', `--image=${IMAGE}`, '--port=9000', '--', ...ECHO);
    await cluster.kubectl('expose', 'pod', 'echo', '--port=90', '--target-port=9000');
    await cluster.kubectl('wait', '--for=condition=Ready', 'pod/echo', '--timeout=60s');
    const address = await cluster.kubectl('get', 'service', 'echo', '-o', 'jsonpath={.spec.clusterIP}');
    const answers = path.join(path.dirname(cluster.dataDir), 'answers');
    const talk = `i=0; while sleep 0.1; do echo $((i=i+1)); done | busybox nc ${address} 90 > ${answers}`;
    const talking = spawn('nsenter', [`--net=${cluster.netns.path}`, 'sh', '-c', talk], { detached: true });
    try {
      const heard = async () => readFileSync(answers, 'utf8').trim().split('\n').length;
      await eventually(heard, (count) => count > 1);
      const running = await podsOf(cluster);
      for (const victim of ['agent', 'server', 'containerd']) {
        const before = await cluster.processes();
        // A supervisor that is stopped starts nothing again, so that status can be asked meanwhile.
        process.kill(before['supervisor'] ?? 0, 'SIGSTOP');
        process.kill(before[victim] ?? 0, 'SIGKILL');
        await eventually(
          () => cluster.trellis('status'),
          ({ code, stdout }) => code === 1 && stdout.includes(`✗ ${victim} does not run`),
        );
        process.kill(before['supervisor'] ?? 0, 'SIGCONT');
        await eventually(
          () => cluster.processes(),
          (now) => now[victim] !== undefined && now[victim] !== before[victim],
        );
        await eventually(
          () => cluster.trellis('status'),
          ({ code }) => code === 0,
        );
        const soFar = await heard();
        await eventually(heard, (count) => count > soFar);
      }
      // One connection, and not a word of it lost.
      const lines = readFileSync(answers, 'utf8').trim().split('\n');
      expect(lines).toEqual(lines.map((_, at) => String(at + 1)));
      expect(talking.exitCode).toBeNull();
      expect((await podsOf(cluster)).map(({ containerId }) => containerId)).toEqual(
        running.map(({ containerId }) => containerId),
      );
    } finally {
      process.kill(-(talking.pid ?? 0), 'SIGKILL');
    }
    await cluster.kubectl('delete', 'pod,service', 'echo', '--grace-period=1');
  });

  test('makes whole what was missing meanwhile', async () => {
    const [victim = { name: '' }] = await podsOf(cluster);
    await cluster.kubectl('delete', 'pod', victim.name, '--wait=false', '--grace-period=1');
    await killAll();
    await bringUp(cluster);
    const pods = await readyPods(cluster, 3);
    expect(pods.map(({ name }) => name)).not.toContain(victim.name);
    await eventually(
      async () => givenAddresses(cluster),
      (given) =>
        given.join() ===
        pods
          .map(({ ip }) => ip)
          .sort()
          .join(),
    );
  });

  test('is taken away as a whole by down, also with nobody left to ask', async () => {
    await killAll();
    expect(await cluster.trellis('down', '--purge')).toMatchObject({ code: 0, stderr: '' });
    await eventually(
      async () => differences(before, await lookAtMachine(cluster.place)),
      (left) => left.length === 0,
      60_000,
    );
  });
});

/** `trellis up`, interrupted as by Ctrl-C as soon as its processes are being started. */
async function interruptStart(cluster: TestCluster, words: readonly string[]) {
  const command = [process.execPath, 'dist/src/cli/main.js', 'up', '--data-dir', cluster.dataDir, ...words];
  const child = spawn('nsenter', [`--net=${cluster.netns.path}`, ...command]);
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk));
  const exited = once(child, 'exit');
  await eventually(
    async () => Buffer.concat(said).toString(),
    (text) => text.includes('✓ certificates'),
  );
  child.kill('SIGINT');
  const [code] = await exited;
  return { code, said: Buffer.concat(said).toString() };
}

describeWith(NEEDS, 'what can go wrong says what to do', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.make();
  });
  afterAll(() => cluster.remove());

  test('a port that is in use', async () => {
    const { code, stderr } = await cluster.run([
      'busybox',
      'sh',
      '-c',
      `busybox nc -l -p 6443 & sleep 0.3; ${process.execPath} dist/src/cli/main.js up --detach --data-dir ${cluster.dataDir}; code=$?; kill %1; exit $code`,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('port 6443 is needed by the apiserver but something already listens on it');
    expect(stderr).toContain('--secure-port');
  });

  test('no containerd', async () => {
    const { code, stderr } = await cluster.run([
      'env',
      'PATH=/nonexistent',
      process.execPath,
      'dist/src/cli/main.js',
      'up',
      '--data-dir',
      cluster.dataDir,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('containerd was not found in PATH');
    expect(stderr).toContain('apt-get install containerd');
  });

  test('no root', async () => {
    const words = [
      'setpriv',
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      process.execPath,
      'dist/src/cli/main.js',
    ];
    const { code, stderr } = await cluster.run([...words, 'up', '--data-dir', cluster.dataDir]);
    expect(code).toBe(1);
    expect(stderr).toContain('run it with sudo');
  });

  test('an end before it is ready', async () => {
    const before = await lookAtMachine(cluster.place);
    for (const words of [[], ['--detach']]) {
      const start = await interruptStart(cluster, words);
      expect(start).toMatchObject({ code: 130 });
      expect(start.said).toContain('the start was interrupted, and what it had started was ended');
      await eventually(
        async () => differences(before, await lookAtMachine(cluster.place)),
        (left) => left.length === 0,
      );
    }
  });

  test('no right to look', async () => {
    mkdirSync(cluster.dataDir, { recursive: true, mode: 0o700 });
    chmodSync(path.dirname(cluster.dataDir), 0o755);
    const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    for (const command of ['status', 'logs', 'kubeconfig', 'token list']) {
      const words = [process.execPath, 'dist/src/cli/main.js', ...command.split(' ')];
      const answer = await cluster.run([...nobody, ...words, '--data-dir', cluster.dataDir]);
      expect(answer).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('is accessible only to root'),
      });
    }
  });

  test('a second start on the same data directory, a wrong manifest and a missing image', async () => {
    await bringUp(cluster);
    const second = await cluster.trellis('up', '--detach');
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`a cluster already runs on ${cluster.dataDir}`);

    const manifest = path.join(path.dirname(cluster.dataDir), 'wrong.yaml');
    writeFileSync(
      manifest,
      JSON.stringify({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'wrong' },
        spec: {
          selector: { matchLabels: { app: 'a' } },
          template: {
            metadata: { labels: { app: 'b' } },
            spec: { containers: [{ name: 'UPPER', image: IMAGE }] },
          },
        },
      }),
    );
    const wrong = await cluster.trellis('kubectl', 'create', '-f', manifest);
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('`selector` does not match template `labels`');
    expect(wrong.stderr).toContain('spec.template.spec.containers[0].name');

    await cluster.kubectl('run', 'absent', '--image=trellis.local/absent');
    await eventually(
      () => cluster.kubectl('get', 'pod', 'absent', '--no-headers'),
      (line) => /ErrImagePull|ImagePullBackOff/.test(line),
    );
    expect(await cluster.kubectl('describe', 'pod', 'absent')).toMatch(
      /Failed to pull image "trellis.local\/absent"/,
    );
    const { code, stdout } = await cluster.trellis('status');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /✗ pod default\/absent: (ErrImagePull|ImagePullBackOff).*\n.* describe pod absent\n/,
    );
  });
});
