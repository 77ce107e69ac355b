// Faults: what should be served is served while they last, and afterwards everything is right by itself.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { iptablesMode } from '../../../proxy-modes/iptables/mode.js';
import type { ProxyMode } from '../../../proxy-modes/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/api/resources.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import type { IptablesBackend } from '../../../src/kernel/iptables/port.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { cleanUpModes, openMode } from '../../../src/proxy/modes.js';
import { NodeProxy } from '../../../src/proxy/proxy.js';
import type { TestNetNs } from '../../support/netns.js';
import { iptablesContents, nftContents } from '../../support/proxy/contents.js';
import { CLUSTER_IP, POD_CIDR, proxyLab, web } from '../../support/proxy/lab.js';
import { informersWith, meta, service, slice } from '../../support/proxy/objects.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { chiSquare, traffic } from '../../support/proxy/traffic.js';
import { describeWith } from '../../support/requires.js';

// On a busy machine each condition may take its time.
vi.setConfig({ testTimeout: process.env['TRELLIS_PROOF'] === 'long' ? 900_000 : 180_000 });

const TABLE = 'trellis-proxy';
/** Each with the back end of iptables that it writes to. `TRELLIS_PROOF=long`: also the one whose tables are replaced whole. */
type Written = readonly ['nftables' | 'iptables', IptablesBackend];
const LONG = process.env['TRELLIS_PROOF'] === 'long';
const NFT: readonly Written[] = [
  ['nftables', 'nft'],
  ['iptables', 'nft'],
];
const MODES: readonly Written[] = [...NFT, ...(LONG ? [['iptables', 'legacy'] as const] : [])];
/** How long somebody holds the lock of iptables. */
const HELD_MS = LONG ? 30_000 : 0;
const { bare, closing } = proxyLab();
const { serve, ask, download } = traffic();
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

const options = (node: TestNetNs, backend: IptablesBackend = 'nft') =>
  ({
    table: TABLE,
    families: ['ip'],
    traffic: { ip: { local: { by: 'cidr', cidr: POD_CIDR } } },
    backend,
    netns: node.path,
  }) as const;

async function openIn(node: TestNetNs, [name, backend]: Written): Promise<ProxyMode> {
  const mode = await openMode(name, options(node, backend));
  closers.push(async () => mode.close());
  return mode;
}

/** A lab whose first pod answers on every address of 10.244.8.0/21. */
async function manyAddresses() {
  const place = await bare();
  const [pod] = place.pods;
  if (pod === undefined) throw new Error('no pod');
  await pod.run('ip', 'route', 'add', 'local', '10.244.8.0/21', 'dev', 'lo');
  await place.node.run('ip', 'route', 'add', '10.244.8.0/21', 'via', '10.244.0.2');
  await serve(pod);
  return { ...place, pod };
}
const endpointsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => endpoint(`10.244.${8 + (n >> 8)}.${n & 255}`));

/** A proxy over informers filled by hand, with one service "web" that the pod serves. */
async function running(mode: ProxyMode) {
  const informers = informersWith(service('web', CLUSTER_IP), slice('web', ['10.244.0.2']));
  const proxy = new NodeProxy({ informers, nodeName: 'n1', mode, log: silentLog, minSyncPeriodMs: 1 });
  closers.push(() => proxy.stop());
  await proxy.synced();
  return { informers, proxy };
}

describeWith(
  { root: true, tools: ['ip', 'nft', 'nsenter', 'flock', 'iptables-nft-restore'] },
  'a proxy',
  () => {
    test.each(MODES)(
      'shares out connections evenly, also over a thousand endpoints (%s, %s)',
      async (...written) => {
        const { node, pods } = await manyAddresses();
        const mode = await openIn(node, written);
        const few = servicePort(10, { clusterIp: CLUSTER_IP, endpoints: endpointsOf(5) });
        const many = servicePort(11, { endpoints: endpointsOf(1000) });
        await mode.sync(stateOf(few, many));
        const from = pods[1] ?? node;
        const { answers, failed } = await ask(from, CLUSTER_IP, 80, 1000);
        expect(failed).toBe(0);
        expect(Object.keys(answers)).toHaveLength(5);
        // Four degrees of freedom: a fair choice is farther off than this once in a hundred million times.
        expect(chiSquare(Object.values(answers))).toBeLessThan(43);
        const all = await ask(from, '10.96.0.11', 80, 1000);
        expect(all.failed).toBe(0);
        // A thousand throws into a thousand boxes meet 632 of them, give or take 10.
        expect(Object.keys(all.answers).length).toBeGreaterThan(550);
      },
    );

    test.each(MODES)(
      'breaks no connection while a thousand changes of others go by (%s, %s)',
      async (...written) => {
        const { node, pods } = await manyAddresses();
        const mode = await openIn(node, written);
        const own = servicePort(10, { clusterIp: CLUSTER_IP, endpoints: endpointsOf(2) });
        const other = (n: number) => servicePort(20 + (n % 20), { endpoints: endpointsOf(n % 4) });
        const state = new Map(stateOf(own));
        await mode.sync(state);
        const running = await download(pods[1] ?? node, CLUSTER_IP, 80);
        const local = await download(node, CLUSTER_IP, 80);
        for (let n = 0; n < 1000; n++) {
          const port = other(n);
          if (n % 7 === 6) state.delete(port.key);
          else state.set(port.key, port);
          await mode.sync(state, new Set([port.key]));
        }
        expect(await running.end()).toEqual({ numbers: expect.any(Number) });
        expect(await local.end()).toEqual({ numbers: expect.any(Number) });
      },
    );

    test.each(MODES)(
      'killed in the middle of a sync leaves what the next one puts right (%s, %s)',
      async (name, backend) => {
        const written = [name, backend] as const;
        const { node } = await bare();
        const script = join(import.meta.dirname, '../../support/proxy/endlessSync.mjs');
        for (const afterMs of [30, 90, 180, 300]) {
          const child = spawn(process.execPath, [script, name, node.path, '150', backend], {
            stdio: ['ignore', 'pipe', 'inherit'],
          });
          closers.push(() => kill(child));
          await once(child.stdout, 'data');
          await new Promise((resolve) => setTimeout(resolve, afterMs));
          await kill(child);
          // It was at work until then: a child that died by itself would show nothing.
          expect(child.signalCode).toBe('SIGKILL');
        }
        const state = web(['10.244.0.2', '10.244.0.3']);
        await (await openIn(node, written)).sync(state);
        const { node: other } = await bare();
        await (await openIn(other, written)).sync(state);
        const contents = async (ns: TestNetNs) =>
          name === 'nftables'
            ? nftContents(closing(await openNft(ns.path)), TABLE)
            : iptablesContents(
                await (await openIptables({ family: 'inet', backend, netns: ns.path })).save(),
              );
        expect(await contents(node)).toEqual(await contents(other));
      },
    );

    test.each(NFT)('writes anew what somebody flushed (%s, %s)', async (...written) => {
      const { node, pods } = await manyAddresses();
      const { proxy } = await running(await openIn(node, written));
      const from = pods[1] ?? node;
      // The echo of our own write is over.
      await new Promise((resolve) => setTimeout(resolve, 400));
      await node.run('nft', 'flush', 'ruleset');
      await vi.waitFor(() => expect(proxy.metrics.repairs).toBeGreaterThan(0), { timeout: 30_000 });
      await vi.waitFor(async () => expect((await ask(from, CLUSTER_IP, 80, 3)).failed).toBe(0), {
        timeout: 60_000,
      });
    });

    test.each([
      ['nftables', 'iptables'],
      ['iptables', 'nftables'],
    ] as const)('in another mode takes over without breaking a connection (%s to %s)', async (from, to) => {
      const { node, pods } = await manyAddresses();
      const state = stateOf(servicePort(10, { clusterIp: CLUSTER_IP, endpoints: endpointsOf(3) }));
      const old = await openMode(from, options(node));
      await old.sync(state);
      old.close();
      const running = await download(pods[1] ?? node, CLUSTER_IP, 80);
      await (await openIn(node, [to, 'nft'])).sync(state);
      expect((await cleanUpModes([from], options(node))).size).toBe(0);
      expect(await running.end()).toEqual({ numbers: expect.any(Number) });
      expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 20)).failed).toBe(0);
      const left = await node.run(
        from === 'nftables' ? 'nft' : 'iptables-nft-save',
        ...(from === 'nftables' ? ['list', 'tables'] : []),
      );
      expect(left).not.toContain(from === 'nftables' ? TABLE : 'KUBE-');
    });

    test.each(['nft', 'legacy'] as const)(
      'keeps its back end of iptables, %s, and leaves nothing in the other',
      async (backend) => {
        const { node, pods } = await manyAddresses();
        const other = backend === 'nft' ? 'legacy' : 'nft';
        const state = stateOf(servicePort(10, { clusterIp: CLUSTER_IP, endpoints: endpointsOf(1) }));
        const { backend: _, ...undecided } = options(node);
        const first = await openIn(node, ['iptables', backend]);
        await first.sync(state);
        // Somebody writes more rules than ours into the other one.
        for (let n = 0; n < 60; n++)
          await node.run(`iptables-${other}`, '-A', 'INPUT', '-s', `203.0.113.${n}`, '-j', 'ACCEPT');
        const second = await openMode('iptables', undecided);
        closers.push(async () => second.close());
        await second.sync(state);
        expect(await node.run(`iptables-${other}-save`)).not.toContain('KUBE-');
        expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 3)).failed).toBe(0);
        // Told to use the other one, it takes its old rules away.
        await (await openIn(node, ['iptables', other])).sync(state);
        expect(await node.run(`iptables-${backend}-save`)).not.toContain('KUBE-');
        expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 3)).failed).toBe(0);
        expect((await cleanUpModes(['iptables'], undecided)).size).toBe(0);
        expect(await node.run(`iptables-${other}-save`)).not.toContain('KUBE-');
      },
    );

    test.each(MODES)(
      'serves steadily while endpoints of another service flap (%s, %s)',
      async (...written) => {
        const { node, pods } = await manyAddresses();
        const { informers, proxy } = await running(await openIn(node, written));
        informers.of(SERVICES).set(service('flaps', '10.96.0.77'));
        let flaps = 0;
        const timer = setInterval(() => {
          const ips = endpointsOf(2 + (flaps % 3)).map(({ ip }) => ip);
          informers.of(ENDPOINT_SLICES).set(slice('flaps', flaps % 2 === 0 ? ips : []));
          flaps += 1;
        }, 10);
        closers.push(async () => clearInterval(timer));
        const { failed } = await ask(pods[1] ?? node, CLUSTER_IP, 80, 500, 4);
        await vi.waitFor(() => expect(flaps).toBeGreaterThan(100), { timeout: 30_000 });
        clearInterval(timer);
        expect(failed).toBe(0);
        expect(proxy.metrics.failures).toBe(0);
        informers.of(ENDPOINT_SLICES).set(slice('flaps', ['10.244.8.1']));
        await vi.waitFor(
          async () => {
            const { answers } = await ask(pods[1] ?? node, '10.96.0.77', 80, 2);
            expect(answers).toEqual({ '10.244.8.1:8080': 2 });
          },
          { timeout: 30_000 },
        );
      },
    );

    test.each(MODES)(
      'leaves out objects that make no sense and serves the others (%s, %s)',
      async (...written) => {
        const { node, pods } = await manyAddresses();
        const { informers, proxy } = await running(await openIn(node, written));
        const [services, slices] = [informers.of(SERVICES), informers.of(ENDPOINT_SLICES)];
        services.set(service('no-address', 'nonsense'));
        services.set(service('no-ports', '10.96.0.71', { ports: undefined }));
        services.set(
          service('bad-ports', '10.96.0.72', {
            ports: [{ port: -1 }, { port: 70_000, protocol: 'CARRIER PIGEON' }],
          }),
        );
        services.set(
          service('bad-outside', '10.96.0.73', {
            externalIPs: ['x', '::g'],
            loadBalancerSourceRanges: ['1.2.3.4/99'],
          }),
        );
        services.set({ metadata: meta('no-spec'), spec: {}, status: {} });
        slices.set(slice('bad-outside', ['not an address', '', '10.244.0.2']));
        slices.set({
          ...slice('web', []),
          metadata: meta('odd', { labels: { 'kubernetes.io/service-name': 'web' } }),
          ports: null,
          endpoints: null,
        });
        services.set(service('good', '10.96.0.78'));
        slices.set(slice('good', ['10.244.8.2']));
        await vi.waitFor(
          async () =>
            expect((await ask(pods[1] ?? node, '10.96.0.78', 80, 2)).answers).toEqual({
              '10.244.8.2:8080': 2,
            }),
          { timeout: 30_000 },
        );
        expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 2)).failed).toBe(0);
        expect(proxy.metrics.failures).toBe(0);
      },
    );
  },
);

describeWith(
  { root: true, tools: ['ip', 'nsenter', 'flock', 'iptables-legacy-restore'] },
  'a proxy on the legacy back end',
  () => {
    test('writes anew what somebody flushed, which the kernel does not tell', async () => {
      const { node, pods } = await manyAddresses();
      const ip = await openIptables({ family: 'inet', backend: 'legacy', netns: node.path });
      const { proxy } = await running(iptablesMode({ ports: { ip }, traffic: options(node).traffic }));
      // Until it has looked once after its last sync.
      await new Promise((resolve) => setTimeout(resolve, 2500));
      await node.run('iptables-legacy', '-t', 'nat', '-F');
      await vi.waitFor(() => expect(proxy.metrics.repairs).toBe(1), { timeout: 25_000 });
      await vi.waitFor(async () => expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 3)).failed).toBe(0), {
        timeout: 60_000,
      });
    });

    test('serves by the old rules while another program holds the lock, and by the new ones once it lets go', async () => {
      const { node, pods } = await manyAddresses();
      const directory = mkdtempSync(join(tmpdir(), 'trellis-lock-'));
      closers.push(async () => rmSync(directory, { recursive: true }));
      const lock = join(directory, 'xtables.lock');
      const ip = await openIptables({
        family: 'inet',
        backend: 'legacy',
        netns: node.path,
        lockWaitSeconds: 1,
        env: { XTABLES_LOCKFILE: lock },
      });
      const mode = iptablesMode({ ports: { ip }, traffic: options(node).traffic });
      const { informers, proxy } = await running(mode);
      const held = join(directory, 'held');
      const holder = spawn('flock', [lock, 'sh', '-c', `touch ${held}; read -r _`], {
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      closers.push(() => kill(holder));
      await vi.waitFor(() => expect(existsSync(held)).toBe(true), { timeout: 30_000 });
      informers.of(SERVICES).set(service('new', '10.96.0.79'));
      informers.of(ENDPOINT_SLICES).set(slice('new', ['10.244.8.3']));
      await vi.waitFor(() => expect(proxy.metrics.failures).toBeGreaterThan(0), { timeout: 30_000 });
      const lets = Date.now() + HELD_MS;
      do expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 5)).failed).toBe(0);
      while (Date.now() < lets);
      holder.stdin.end('\n');
      await vi.waitFor(async () => expect((await ask(pods[1] ?? node, '10.96.0.79', 80, 2)).failed).toBe(0), {
        timeout: 60_000,
      });
      expect((await ask(pods[1] ?? node, CLUSTER_IP, 80, 5)).failed).toBe(0);
    });
  },
);
