// What is measured inside a fresh cluster: the first answer through a Service, DNS, and what each process holds.
// usage: node inside.js DATA-DIR      prints one JSON object
import dgram from 'node:dgram';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import dnsPacket from 'dns-packet';
import { DEPLOYMENTS, SERVICES } from '../../src/api/resources.js';
import type { Client } from '../../src/client/client.js';
import { transportOf } from '../../src/client/kubeconfig.js';
import { openClient } from '../../src/client/typedClient.js';
import { BUSYBOX_IMAGE } from '../../src/cluster/images/builtin.js';
import { type Layout, layoutOf } from '../../src/cluster/layout.js';
import { readState } from '../../src/cluster/state.js';
import { residentMb } from '../lib/process.js';

export interface Seen {
  readonly firstAnswerMs: number;
  readonly dnsUs: readonly number[];
  /** By process. */
  readonly residentMb: Readonly<Record<string, number>>;
}

const SETTLE_MS = 60_000;
const RETRY_MS = 5;
const [WARM_UP, QUESTIONS] = [50, 200];
const NAME = { name: 'web', namespace: 'default' };

async function firstAnswer(client: Client): Promise<number> {
  const labels = { app: 'web' };
  const command = ['httpd', '-f', '-p', '8080', '-h', '/etc'];
  const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command }];
  const start = performance.now();
  await client.of(DEPLOYMENTS).create({
    metadata: NAME,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  const service = await client.of(SERVICES).create({
    metadata: NAME,
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  });
  while (!(await answers(service.spec.clusterIP ?? ''))) await sleep(RETRY_MS);
  return performance.now() - start;
}

function answers(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: address, path: '/hostname', timeout: 1_000 }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200));
    });
    request.on('error', () => resolve(false)).on('timeout', () => request.destroy());
  });
}

/** Microseconds of each question, one after the other. */
async function askNames(client: Client): Promise<number[]> {
  const dns = await client.of(SERVICES).get({ name: 'kube-dns', namespace: 'kube-system' });
  const socket = dgram.createSocket('udp4');
  socket.connect(53, dns.spec.clusterIP);
  await once(socket, 'connect');
  const times: number[] = [];
  for (let id = 1; id <= WARM_UP + QUESTIONS; id++) {
    const questions = [{ type: 'A' as const, name: 'web.default.svc.cluster.local' }];
    const question = dnsPacket.encode({ type: 'query', id, flags: dnsPacket.RECURSION_DESIRED, questions });
    const start = performance.now();
    socket.send(question);
    const [bytes] = (await once(socket, 'message')) as [Buffer];
    times.push((performance.now() - start) * 1000);
    if (dnsPacket.decode(bytes).answers?.length !== 1) throw new Error('the name has no address');
  }
  socket.close();
  return times.slice(WARM_UP);
}

async function processes(layout: Layout): Promise<Record<string, number>> {
  const { supervisor, components } = await readState(layout);
  const all = Object.entries({ ...(supervisor === undefined ? {} : { supervisor }), ...components });
  return Object.fromEntries(all.map(([name, { pid }]) => [name, residentMb(pid)]));
}

const layout = layoutOf(realpathSync(process.argv[2] ?? ''));
const client = openClient(await transportOf(layout.adminKubeconfig));
const firstAnswerMs = await firstAnswer(client);
const dnsUs = await askNames(client);
await sleep(SETTLE_MS);
const seen: Seen = { firstAnswerMs, dnsUs, residentMb: await processes(layout) };
console.log(JSON.stringify(seen));
process.exit(0);
