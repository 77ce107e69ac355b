// `trellis network-policy` alone on a node whose pods, bridge and rules are others': a process of its own, an API server, and
// packets between pods that somebody else has made.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { NETWORK_POLICIES, NODES, PODS } from '../../../src/api/resources.js';
import { openClient } from '../../../src/client/typedClient.js';
import { type Probe, policyLab } from '../../support/policy/lab.js';
import { podObject } from '../../support/policy/worldPlanner.js';
import { describeWith } from '../../support/requires.js';
import { startTestApiServer } from '../../support/testApiServer.js';
import { until } from '../../support/until.js';

const MAIN = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));
const A: [string, string] = ['10.244.0.2', 'fd00:244::2'];
const B: [string, string] = ['10.244.0.3', 'fd00:244::3'];
const API_PORT = 6443;
const METRICS = '127.0.0.1:9099';
/** What a stock proxy in the iptables mode and a flannel leave on a node, in short. */
const OTHERS = [
  'iptables-legacy -t nat -N KUBE-SERVICES',
  'iptables-legacy -t nat -A PREROUTING -j KUBE-SERVICES',
  'iptables-legacy -A FORWARD -s 10.244.0.0/16 -j ACCEPT',
  'nft add table ip kube-proxy',
  'nft add table inet firewall',
].join('\n');

const { open } = policyLab();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const probes = (port = 80): Probe[] =>
  A.map((source, i) => ({ protocol: 'tcp', source, destination: B[i] ?? '', port }));

/** The API server is in another network namespace than the node: a socket of the file system leads from one to the other. */
const RELAY = `
const net = require('node:net');
const [file, port] = process.argv.slice(1);
net.createServer((near) => {
  const far = net.connect(file);
  for (const [socket, other] of [[near, far], [far, near]]) socket.on('error', () => other.destroy()).pipe(other);
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
`;

async function place() {
  const lab = await open([A, B], []);
  const api = await startTestApiServer();
  closers.push(() => api.close());
  const dir = mkdtempSync(path.join(tmpdir(), 'trellis-policy-'));
  closers.push(() => rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'api.sock');
  const sockets = new Set<net.Socket>();
  const relay = net.createServer((near) => {
    const far = net.connect(api.server.port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy()).pipe(other);
    }
  });
  relay.listen(file);
  await once(relay, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  const kubeconfig = path.join(dir, 'kubeconfig');
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const user = {
    'client-certificate-data': base64(api.admin.cert),
    'client-key-data': base64(api.admin.key),
  };
  const cluster = {
    server: `https://127.0.0.1:${API_PORT}`,
    'certificate-authority-data': base64(api.pki.ca),
  };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    }),
  );
  const onNode = (...command: string[]): ChildProcess => {
    const child = spawn('nsenter', [`--net=${lab.node.path}`, process.execPath, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    closers.push(() => ended(child, 'SIGKILL'));
    return child;
  };
  const linkApi = async () => {
    const child = onNode('-e', RELAY, file, String(API_PORT));
    if (child.stdout !== null) await once(child.stdout, 'data');
  };
  /** `said` has all lines so far. */
  const enforce = (...flags: string[]) => {
    const said: string[] = [];
    const words = ['--kubeconfig', kubeconfig, '--hostname-override', 'here', ...flags];
    const child = onNode(MAIN, 'network-policy', ...words);
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => said.push(line));
    return { child, said, says: (text: string) => until(() => expect(said.join('\n')).toContain(text)) };
  };
  const passes = async (expected: boolean, port?: number) =>
    (await lab.send(probes(port), () => expected)).size;
  return { lab, api: openClient(api.transport), linkApi, enforce, passes };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

type Api = Awaited<ReturnType<typeof place>>['api'];

/** As a kubelet tells of a pod that some network gave these addresses. */
async function tellPod(api: Api, name: string, ips: readonly string[]): Promise<void> {
  const { status, metadata, spec } = podObject(
    { namespace: 'default', name, labels: { name }, ips, ports: [] },
    true,
  );
  const { namespace = '', labels } = metadata;
  const containers = [{ name: 'c', image: 'none' }];
  await api
    .of(PODS)
    .create({ metadata: { namespace, name, labels }, spec: { ...spec, containers } } as never);
  await api.of(PODS).patch({ namespace, name }, 'merge', { status }, { subresource: 'status' } as never);
}

const needs = { root: true, tools: ['nsenter', 'ip', 'perl', 'nft', 'iptables-legacy'], files: [MAIN] };
describeWith(needs, 'the command alone, beside what others have set up', () => {
  test('closes, judges, survives its own end and goes, and touches nothing of the others', async () => {
    const { lab, api, linkApi, enforce, passes } = await place();
    await lab.node.run('sh', '-e', '-c', OTHERS);
    const rules = async () => [
      await lab.node.run('nft', 'list', 'ruleset'),
      await lab.node.run('iptables-legacy', '-S'),
      await lab.node.run('iptables-legacy', '-t', 'nat', '-S'),
    ];
    const before = await rules();
    await linkApi();
    await api.raw('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
    await api
      .of(NODES)
      .create({ metadata: { name: 'here' }, spec: { podCIDRs: ['10.244.0.0/24', 'fd00:244::/64'] } });
    await tellPod(api, 'one', A);
    expect(await passes(true)).toBe(2);
    const flags = ['--log-refused', '--metrics-bind-address', METRICS];
    const first = enforce(...flags);
    await first.says('enforcing');
    // The address of a pod of which nobody has told is closed.
    expect(await passes(false)).toBe(0);
    await first.says('an address whose network policies are not in place yet');
    await tellPod(api, 'two', B);
    await until(async () => expect(await passes(true)).toBe(2));
    const ingress = [{ ports: [{ port: 81 }] }];
    const policy = { metadata: { namespace: 'default', name: 'some' }, spec: { podSelector: {}, ingress } };
    await api.of(NETWORK_POLICIES).create(policy);
    await until(async () => expect(await passes(false)).toBe(0));
    expect(await passes(true, 81)).toBe(2);
    await first.says('default/two');
    const metrics = await lab.node.run('busybox', 'wget', '-q', '-O', '-', `http://${METRICS}/metrics`);
    expect(metrics).toMatch(/decided_packets_total\{.*policy="some"\} [1-9]/);
    // Killed, it leaves what is allowed and what is not; so does the next one, which finds the rules of the first.
    await ended(first.child, 'SIGKILL');
    expect([await passes(false), await passes(true, 81)]).toEqual([0, 2]);
    const second = enforce(...flags);
    await second.says('enforcing');
    expect([await passes(false), await passes(true, 81)]).toEqual([0, 2]);
    await ended(second.child, 'SIGTERM');
    expect([await passes(false), await passes(true, 81)]).toEqual([0, 2]);
    await lab.node.run(process.execPath, MAIN, 'network-policy', '--cleanup');
    expect(await passes(true)).toBe(2);
    expect(await rules()).toEqual(before);
  });

  test('closes the networks that it is told before any API server answers', async () => {
    const { api, linkApi, enforce, passes } = await place();
    const engine = enforce('--pod-cidrs', '10.244.0.0/24,fd00:244::/64');
    await until(async () => expect(await passes(false)).toBe(0));
    expect(engine.said.join('\n')).not.toContain('enforcing');
    await api.raw('POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
    for (const [name, ips] of Object.entries({ one: A, two: B })) await tellPod(api, name, ips);
    await linkApi();
    await engine.says('enforcing');
    expect(await passes(true)).toBe(2);
  });
});
