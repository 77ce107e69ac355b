// Services with their EndpointSlices, created from 64 clients into a cluster that has 10,000 of both.
import { againstLimit, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { median, round } from '../lib/samples.js';
import { CLIENTS, readyApiServer } from './ready.js';
import { makePlace } from './testbed.js';
import { drive, post, type Wire } from './wire.js';

const PRESENT = 10_000;
const COUNT = 1_000;
const RUNS = 5;
const MOST_US = 2_273;
const SERVICES = '/api/v1/namespaces/default/services';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

export async function services(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    await createPairs(wires, 'present', PRESENT);
    const times: number[] = [];
    const cpu: number[] = [];
    for (let run = 0; run < runsOf(RUNS); run++) {
      const before = server.cpuSeconds();
      times.push(await createPairs(wires, `r${run}`, COUNT));
      cpu.push(((server.cpuSeconds() - before) * 1e6) / COUNT);
    }
    for (const wire of wires) wire.close();
    const note = `${round(1e6 / median(times))} a second, CPU of the server ${round(median(cpu))} µs`;
    const name = `create a Service and its EndpointSlice among 10,000, ${CLIENTS} clients`;
    return [againstLimit({ name, note, samples: times, unit: 'µs' }, MOST_US)];
  } finally {
    await place.clean();
  }
}

/** Time of one pair, in microseconds. */
async function createPairs(wires: readonly Wire[], prefix: string, count: number): Promise<number> {
  const requests = Array.from({ length: count }, (_, i) => [
    post(SERVICES, service(`${prefix}-${i}`)),
    post(SLICES, slice(`${prefix}-${i}`, i)),
  ]).flat();
  return 2 * (await drive(wires, requests.length, (i) => requests[i] as Buffer, 201));
}

function service(name: string): Buffer {
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }];
  const spec = { selector: { app: name }, ports };
  const metadata = { name, labels: { app: name } };
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata, spec }));
}

/** With three ready endpoints, as its controller would write it. */
function slice(name: string, index: number): Buffer {
  const endpoint = (last: number) => ({
    addresses: [`10.${(index >> 8) & 255}.${index & 255}.${last}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${last}`,
    targetRef: { kind: 'Pod', namespace: 'default', name: `${name}-${last}` },
  });
  return Buffer.from(
    JSON.stringify({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-x`, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      endpoints: [1, 2, 3].map(endpoint),
    }),
  );
}
