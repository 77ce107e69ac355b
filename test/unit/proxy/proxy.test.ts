// The proxy as a whole, over informers filled by hand and a kernel in memory.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { NftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { ENDPOINT_SLICES, NODES, SERVICE_CIDRS, SERVICES } from '../../../src/api/resources.js';
import { FakeConntrack } from '../../../src/kernel/conntrack/fake.js';
import { KernelError } from '../../../src/kernel/error.js';
import { FakeNft } from '../../../src/kernel/nftables/fake.js';
import { NodeProxy, type ProxyOptions } from '../../../src/proxy/proxy.js';
import { makeHealth } from '../../../src/proxy/server/health.js';
import { openSmallServer } from '../../../src/proxy/server/http.js';
import { metricsAnswer } from '../../../src/proxy/server/metrics.js';
import { serviceHealthServers } from '../../../src/proxy/server/serviceHealth.js';
import { meta, service, serviceCidr, slice } from '../../support/proxy/objects.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

const table = 'trellis-proxy';
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Of a client of 10.96.0.1 that was sent to that endpoint. */
const flowTo = (server: string, port: number) => ({
  protocol: 'udp' as const,
  original: { source: '10.9.9.9', destination: '10.96.0.1', sourcePort: port, destinationPort: 80 },
  reply: { source: server, destination: '10.9.9.9', sourcePort: 8080, destinationPort: port },
  timeout: 100,
});

async function start() {
  const informers = new StaticInformers();
  const nft = new FakeNft();
  const conntrack = new FakeConntrack();
  informers.of(NODES).set({ metadata: { ...meta('n1'), namespace: undefined }, spec: {}, status: {} });
  const mode = new NftablesMode({ nft, table, families: ['ip'], traffic: {} });
  const run = (refused?: ProxyOptions['refused'], syncPeriodMs = 50): NodeProxy => {
    const proxy = new NodeProxy({
      ...(refused && { refused }),
      informers,
      nodeName: 'n1',
      mode,
      log: silentLog,
      conntrack,
      minSyncPeriodMs: 1,
      syncPeriodMs,
    });
    closers.push(() => proxy.stop());
    return proxy;
  };
  const elements = async (set: string) =>
    (await nft.elements({ family: 'ip', table, set })).map(({ key }) => key).sort();
  return { informers, nft, conntrack, run, elements };
}

describe('a running proxy', () => {
  test('follows services and endpoints', async () => {
    const { informers, run, elements } = await start();
    informers.of(SERVICES).set(service('a', '10.96.0.1'));
    informers.of(ENDPOINT_SLICES).set(slice('a', ['10.244.0.1']));
    await run().synced();
    expect(await elements('service-ips')).toEqual(['10.96.0.1 . tcp . 80']);
    informers.of(SERVICES).set(service('b', '10.96.0.2'));
    await until(async () => expect(await elements('no-endpoint-services')).toEqual(['10.96.0.2 . tcp . 80']));
    informers.of(SERVICES).remove('default/a');
    await until(async () => expect(await elements('service-ips')).toEqual([]));
  });

  test('does not look at its rules all the time when it is to do so after more than 24.8 days', async () => {
    const { run } = await start();
    const intervals = vi.spyOn(globalThis, 'setInterval');
    try {
      await run(undefined, 2 ** 40).synced();
      expect(intervals.mock.calls.map(([, ms]) => ms)).toContain(2 ** 31 - 1);
    } finally {
      intervals.mockRestore();
    }
  });

  test('leaves to others what is labelled as theirs, from the moment the label comes until it goes', async () => {
    const { informers, run, elements } = await start();
    const labels = ['service.kubernetes.io/headless', 'service.kubernetes.io/service-proxy-name'];
    const labelled = (object: { metadata: object }, label: string) => ({
      ...object,
      metadata: { ...object.metadata, labels: { 'kubernetes.io/service-name': 'a', [label]: '' } },
    });
    const [plain, ends] = [service('a', '10.96.0.1'), slice('a', ['10.244.0.1'])];
    informers.of(SERVICES).set(plain);
    informers.of(ENDPOINT_SLICES).set(ends);
    await run().synced();
    const [served, empty] = [
      () => elements('service-ips'),
      async () => [await elements('service-ips'), await elements('no-endpoint-services')],
    ];
    for (const label of labels) {
      informers.of(SERVICES).set(labelled(plain, label));
      await until(async () => expect(await empty()).toEqual([[], []]));
      informers.of(SERVICES).set(plain);
      await until(async () => expect(await served()).toEqual(['10.96.0.1 . tcp . 80']));
      informers.of(ENDPOINT_SLICES).set(labelled(ends, label));
      await until(async () => expect(await empty()).toEqual([[], ['10.96.0.1 . tcp . 80']]));
      informers.of(ENDPOINT_SLICES).set(ends);
      await until(async () => expect(await served()).toEqual(['10.96.0.1 . tcp . 80']));
    }
  });

  test('drops what goes to the ranges of services, as they come and go', async () => {
    const { informers, run, nft } = await start();
    const dropped = async () =>
      (await nft.rules({ family: 'ip', table })).filter(
        ({ chain, expressions }) =>
          chain === 'cluster-ips-check' && JSON.stringify(expressions).includes('"drop"'),
      ).length;
    informers.of(SERVICE_CIDRS).set(serviceCidr('10.96.0.0/16', 'fd00:96::/112', 'not a range'));
    await run().synced();
    expect(await dropped()).toBe(1);
    informers.of(SERVICE_CIDRS).set(serviceCidr('10.96.0.0/16', '10.97.0.0/16'));
    await until(async () => expect(await dropped()).toBe(2));
    informers.of(SERVICE_CIDRS).remove('kubernetes');
    await until(async () => expect(await dropped()).toBe(0));
  });

  test('gives an address that two services claim to one of them, and to the other once that is gone', async () => {
    const { informers, run, elements, nft } = await start();
    const external = { externalIPs: ['192.0.2.1'] };
    informers.of(SERVICES).set(service('a', '10.96.0.1', external));
    informers.of(SERVICES).set(service('b', '10.96.0.2', external));
    for (const name of ['a', 'b']) informers.of(ENDPOINT_SLICES).set(slice(name, ['10.244.0.1']));
    await run().synced();
    const owner = async () =>
      (await nft.elements({ family: 'ip', table, set: 'service-ips' })).find(({ key }) =>
        key.startsWith('192.0.2.1 '),
      )?.verdict;
    expect(await owner()).toContain('default/a');
    expect(await elements('service-ips')).toHaveLength(3);
    informers.of(SERVICES).remove('default/a');
    await until(async () => expect(await owner()).toContain('default/b'));
  });

  test('writes its rules anew when somebody flushed them', async () => {
    const { informers, run, nft, elements } = await start();
    informers.of(SERVICES).set(service('a', '10.96.0.1'));
    informers.of(ENDPOINT_SLICES).set(slice('a', ['10.244.0.1']));
    const proxy = run();
    await proxy.synced();
    await nft.commit([{ do: 'flush', kind: 'ruleset' }]);
    await until(async () => expect(await elements('service-ips')).toHaveLength(1));
    expect(proxy.metrics.repairs).toBeGreaterThan(0);
  });

  test('notices at the next check that elements are gone', async () => {
    const { informers, run, nft, elements } = await start();
    informers.of(SERVICES).set(service('a', '10.96.0.1'));
    informers.of(ENDPOINT_SLICES).set(slice('a', ['10.244.0.1']));
    await run().synced();
    await nft.commit([{ do: 'flush', kind: 'set', family: 'ip', table, name: 'service-ips' }]);
    await until(async () => expect(await elements('service-ips')).toHaveLength(1));
  });

  test('ends UDP flows to an endpoint that is gone, and no other', async () => {
    const { informers, run, conntrack } = await start();
    informers.of(SERVICES).set(service('dns', '10.96.0.1', {}, 'UDP'));
    informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.1', '10.244.0.2'], 'UDP'));
    const flow = (port: number, server: string) => ({
      protocol: 'udp' as const,
      original: { source: '10.244.0.9', destination: '10.96.0.1', sourcePort: port, destinationPort: 80 },
      reply: { source: server, destination: '10.244.0.9', sourcePort: 8080, destinationPort: port },
      timeout: 100,
    });
    // One was left by an endpoint that went while no proxy ran.
    await conntrack.add([flow(1, '10.244.0.1'), flow(2, '10.244.0.2'), flow(3, '10.244.0.3')]);
    const servers = async () => (await conntrack.list()).map(({ reply }) => reply.source).sort();
    await run().synced();
    await until(async () => expect(await servers()).toEqual(['10.244.0.1', '10.244.0.2']));
    informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.2'], 'UDP'));
    await until(async () => expect(await servers()).toEqual(['10.244.0.2']));
  });

  test('ends UDP flows that knocked before, when a way in comes and at its start', async () => {
    const { informers, run, conntrack } = await start();
    const outside = (more: object) => service('dns', '10.96.0.1', more, 'UDP');
    informers.of(SERVICES).set(outside({ externalIPs: ['192.0.2.1'] }));
    informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.1'], 'UDP'));
    const knock = (destination: string) => ({
      protocol: 'udp' as const,
      original: { source: '10.9.9.9', destination, sourcePort: 7, destinationPort: 80 },
      reply: { source: destination, destination: '10.9.9.9', sourcePort: 80, destinationPort: 7 },
      timeout: 100,
    });
    await conntrack.add([knock('192.0.2.1'), knock('192.0.2.2'), knock('192.0.2.3')]);
    const left = async () => (await conntrack.list()).map(({ original }) => original.destination).sort();
    await run().synced();
    await until(async () => expect(await left()).toEqual(['192.0.2.2', '192.0.2.3']));
    informers.of(SERVICES).set(outside({ externalIPs: ['192.0.2.1', '192.0.2.2'] }));
    await until(async () => expect(await left()).toEqual(['192.0.2.3']));
  });

  test('ends flows by the state that was written, after the rules are in place', async () => {
    const { informers, run, conntrack, nft } = await start();
    const endpoints = async () =>
      (await nft.elements({ family: 'ip', table, set: 'service-endpoints' })).map(({ data }) => data);
    informers.of(SERVICES).set(service('dns', '10.96.0.1', {}, 'UDP'));
    informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.1', '10.244.0.2'], 'UDP'));
    await run().synced();
    await conntrack.add([flowTo('10.244.0.1', 1), flowTo('10.244.0.2', 2)]);
    const remove = conntrack.delete.bind(conntrack);
    const ended: (readonly [ports: unknown, rules: unknown])[] = [];
    conntrack.delete = async (filters) => {
      ended.push([filters.map(({ originalSourcePort }) => originalSourcePort), await endpoints()]);
      return remove(filters);
    };
    const commit = nft.commit.bind(nft);
    nft.commit = async (...args) => {
      nft.commit = commit;
      // The other goes while the first is being written.
      informers.of(ENDPOINT_SLICES).set(slice('dns', [], 'UDP'));
      return commit(...args);
    };
    informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.2'], 'UDP'));
    await until(() => expect(ended).toHaveLength(2));
    expect(ended).toEqual([
      [[1], ['10.244.0.2 . 8080']],
      [[2], []],
    ]);
  });

  test.each(['list', 'delete'] as const)(
    'ends flows although the kernel refuses to %s them at first',
    async (verb) => {
      const { informers, run, conntrack } = await start();
      informers.of(SERVICES).set(service('dns', '10.96.0.1', {}, 'UDP'));
      informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.1', '10.244.0.2'], 'UDP'));
      const proxy = run();
      await proxy.synced();
      await until(() => expect(proxy.waitingMs()).toBe(0));
      await conntrack.add([flowTo('10.244.0.1', 1), flowTo('10.244.0.2', 2)]);
      const list = conntrack.list.bind(conntrack);
      const real = conntrack[verb].bind(conntrack) as (...words: never[]) => Promise<unknown>;
      let refusals = 2;
      const refusing = async (...words: never[]) => {
        if (refusals-- > 0) throw new Error('the kernel is busy');
        return real(...words);
      };
      Object.assign(conntrack, { [verb]: refusing });
      informers.of(ENDPOINT_SLICES).set(slice('dns', ['10.244.0.2'], 'UDP'));
      // Nothing else happens that would make it look again.
      await until(async () =>
        expect((await list()).map(({ reply }) => reply.source)).toEqual(['10.244.0.2']),
      );
      expect(refusals).toBeLessThan(0);
    },
  );

  test('takes its own sync for nobody else’s change, however long a check takes', async () => {
    const { informers, run, nft } = await start();
    informers.of(SERVICES).set(service('a', '10.96.0.1'));
    const elements = nft.elements.bind(nft);
    let looks = 0;
    nft.elements = async (of) => {
      looks += 1;
      // A change comes with every look.
      informers.of(SERVICES).set(service(`s${looks}`, `10.96.1.${looks % 250}`));
      await new Promise((resolve) => setTimeout(resolve, 5));
      return elements(of);
    };
    const proxy = run();
    await proxy.synced();
    await until(() => expect(looks).toBeGreaterThan(40));
    expect(proxy.metrics.repairs).toBe(0);
  });

  test('leaves out a service that the kernel refuses, tells of it once, and serves the others', async () => {
    const { informers, run, nft, elements } = await start();
    const commit = nft.commit.bind(nft);
    nft.commit = async (requests, options) => {
      const failures = requests.flatMap((request, index) =>
        request.kind === 'element' && JSON.stringify(request).includes('10.96.0.66 .')
          ? [{ code: 'EINVAL', message: 'no such thing', operation: '', kernel: '', errno: 22, index }]
          : [],
      );
      const [first, ...rest] = failures;
      if (first !== undefined) throw new KernelError([first, ...rest]);
      await commit(requests, options);
    };
    const told: string[] = [];
    for (const [name, ip] of [['good', '10.96.0.1'] as const, ['bad', '10.96.0.66'] as const]) {
      informers.of(SERVICES).set(service(name, ip));
      informers.of(ENDPOINT_SLICES).set(slice(name, ['10.244.0.1']));
    }
    const proxy = run((svc, why) => void told.push(`${svc.metadata.name} ${why}`));
    await proxy.synced();
    informers.of(SERVICES).set(service('late', '10.96.0.2'));
    informers.of(ENDPOINT_SLICES).set(slice('late', ['10.244.0.1']));
    await until(async () => expect(await elements('service-ips')).toHaveLength(2));
    expect(told).toEqual(['bad default/bad:/tcp/ip: no such thing']);
    expect(proxy.metrics.render()).toContain('trellis_proxy_refused_service_ports 1');
    expect(proxy.metrics.failures).toBe(0);
    informers.of(SERVICES).set(service('bad', '10.96.0.67'));
    await until(async () => expect(await elements('service-ips')).toHaveLength(3));
    expect(proxy.metrics.refused).toBe(0);
  });

  test('prefers endpoints of its zone once the node has one', async () => {
    const { informers, run } = await start();
    informers.of(SERVICES).set(service('a', '10.96.0.1'));
    const hinted = slice('a', ['10.244.0.1', '10.244.0.2']);
    const endpoints = hinted.endpoints.map((entry, i) => ({
      ...entry,
      hints: { forZones: [{ name: `z${i}` }] },
    }));
    informers.of(ENDPOINT_SLICES).set({ ...hinted, endpoints });
    const proxy = run();
    await proxy.synced();
    const ips = () => [...proxy.tracker.state.values()].flatMap((port) => port.endpoints.map(({ ip }) => ip));
    expect(ips()).toEqual(['10.244.0.1', '10.244.0.2']);
    informers.of(NODES).set({
      metadata: { ...meta('n1'), namespace: undefined, labels: { 'topology.kubernetes.io/zone': 'z1' } },
      spec: {},
      status: {},
    });
    expect(ips()).toEqual(['10.244.0.2']);
  });
});

describe('what a proxy tells of itself', () => {
  test('is healthy when synced, ineligible on a node that goes, and counts its answers', async () => {
    const { informers, run } = await start();
    const proxy = run();
    const health = makeHealth({ proxy, syncPeriodMs: 1000 });
    expect(health.answer('/livez').status).toBe(503);
    await proxy.synced();
    expect(health.answer('/healthz').status).toBe(200);
    informers.of(NODES).set({
      metadata: { ...meta('n1'), namespace: undefined },
      spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] },
      status: {},
    });
    expect(health.answer('/healthz').status).toBe(503);
    expect(health.answer('/livez').status).toBe(200);
    const answer = metricsAnswer({ metrics: proxy.metrics, mode: 'nftables', config: { a: 1 } });
    expect(answer('/metrics').body).toContain('kubeproxy_proxy_healthz_total{code="503"} 1');
    expect(answer('/metrics').body).toMatch(/kubeproxy_sync_proxy_rules_duration_seconds_count [1-9]/);
    informers.of(SERVICES).set(service('far', '10.96.0.9', { internalTrafficPolicy: 'Local' }));
    informers.of(ENDPOINT_SLICES).set(slice('far', ['10.244.1.1'], 'TCP', 'n2'));
    expect(answer('/metrics').body).toContain('no_local_endpoints_total{traffic_policy="internal"} 1');
    expect(answer('/proxyMode').body).toBe('nftables');
    expect(JSON.parse(answer('/configz').body)).toEqual({ 'kubeproxy.config.k8s.io': { a: 1 } });
    expect(answer('/other').status).toBe(404);
  });

  test('is not healthy while every sync fails', async () => {
    const { informers, run, nft } = await start();
    const proxy = run();
    await proxy.synced();
    const health = makeHealth({ proxy, syncPeriodMs: 50 });
    const commit = nft.commit.bind(nft);
    nft.commit = async (...args) => {
      nft.commit = async () => {
        throw new Error('no memory');
      };
      // It comes while another is written, and nothing comes after it.
      informers.of(SERVICES).set(service('b', '10.96.0.2'));
      await commit(...args);
    };
    informers.of(SERVICES).set(service('a', '10.96.0.1'));
    await until(() => expect(health.answer('/healthz').status).toBe(503));
    nft.commit = commit;
    await until(() => expect(health.answer('/healthz').status).toBe(200));
  });

  test('answers the health check of a service by its local endpoints', async () => {
    const { informers, run } = await start();
    const probe = await openSmallServer({
      address: '127.0.0.1',
      port: 0,
      answer: () => ({ status: 200, body: '' }),
    });
    await probe.close();
    const balanced = {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: probe.port,
    };
    informers.of(SERVICES).set(service('a', '10.96.0.1', balanced));
    informers.of(ENDPOINT_SLICES).set(slice('a', ['10.244.0.1']));
    const proxy = run();
    await proxy.synced();
    const servers = serviceHealthServers({
      health: proxy.tracker.health,
      isProxyHealthy: () => true,
      address: '127.0.0.1',
      log: silentLog,
    });
    closers.push(() => servers.close());
    await servers.follow();
    const ask = () => fetch(`http://127.0.0.1:${probe.port}/`);
    const well = await ask();
    expect(well.status).toBe(200);
    expect(well.headers.get('x-load-balancing-endpoint-weight')).toBe('1');
    expect(await well.json()).toEqual({
      service: { namespace: 'default', name: 'a' },
      localEndpoints: 1,
      serviceProxyHealthy: true,
    });
    informers.of(ENDPOINT_SLICES).set(slice('a', ['10.244.0.1'], 'TCP', 'n2'));
    expect((await ask()).status).toBe(503);
    informers.of(SERVICES).remove('default/a');
    await servers.follow();
    await expect(ask()).rejects.toThrow();
  });
});
