// Durable creates of pods from 64 clients, against plain puts of the same bytes into etcd on the same disk.
// Guarantees: both sides have TLS with client certificates and an equally lean client whose requests are made beforehand.
import { methodOf } from '../../src/store/etcd/messages.js';
import { inTurns } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { cpuSeconds } from '../lib/process.js';
import { median, round } from '../lib/samples.js';
import { GrpcWire, grpcCall } from './grpcWire.js';
import { PODS, podBody } from './pods.js';
import { CLIENTS, createPods, readyApiServer } from './ready.js';
import { makePlace, type Place } from './testbed.js';
import { drive, get } from './wire.js';

const COUNT = 4_000;
const RUNS = 5;
const MOST_US = 422;

export async function creates(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    await createPods(wires, 'first', 1);
    const stored = (await wires[0]?.ask(get(`${PODS}/first-0`)))?.bytes ?? podBody('first').length;
    const etcd = await etcdPuts(place, Buffer.alloc(stored, 'x'));
    let round = 0;
    const [ours, peers] = await inTurns(
      runsOf(RUNS),
      () => costOf(server.pid, () => createPods(wires, `ours-${round++}`, COUNT)),
      () => costOf(etcd.pid, () => etcd.put(`peer-${round++}`, COUNT)),
    );
    for (const wire of [...wires, ...etcd.wires]) wire.close();
    return figures(ours, peers);
  } finally {
    await place.clean();
  }
}

interface Cost {
  readonly us: number;
  readonly cpuUs: number;
}

async function costOf(pid: number, work: () => Promise<number>): Promise<Cost> {
  const before = cpuSeconds(pid);
  const us = await work();
  return { us, cpuUs: ((cpuSeconds(pid) - before) * 1e6) / COUNT };
}

function figures(ours: readonly Cost[], peers: readonly Cost[]): Figure[] {
  const clock = (costs: readonly Cost[]) => costs.map(({ us }) => us);
  const cpu = (costs: readonly Cost[]) => round(median(costs.map(({ cpuUs }) => cpuUs)));
  const common = { name: `create a pod, ${CLIENTS} clients`, unit: 'µs', samples: clock(ours) };
  return [
    againstPeer(
      {
        ...common,
        note: `CPU of the server ${cpu(ours)} µs, of etcd ${cpu(peers)} µs`,
        peer: 'a plain put into etcd',
        peerSamples: clock(peers),
      },
      1 / 0.8,
    ),
    againstLimit({ ...common, note: `${round(1e6 / median(common.samples))} a second` }, MOST_US),
  ];
}

/** Plain puts from as many connections. */
async function etcdPuts(place: Place, value: Buffer) {
  const { pid, port } = await place.etcd();
  const { path, requestSerialize } = methodOf('Put');
  const wires = await Promise.all(Array.from({ length: CLIENTS }, () => GrpcWire.open(place, port)));
  const call = (key: string) => grpcCall(path, requestSerialize({ key: Buffer.from(key), value }));
  return {
    pid,
    wires,
    /** Time of one, in microseconds. */
    put(prefix: string, count: number): Promise<number> {
      const calls = Array.from({ length: count }, (_, i) => call(`/registry/pods/default/${prefix}-${i}`));
      return drive(wires, count, (i) => calls[i] as Buffer);
    },
  };
}
