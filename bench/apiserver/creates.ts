// Durable creates of pods from 64 clients, against plain puts of the same bytes into etcd on the same disk.
import { Client, credentials } from '@grpc/grpc-js';
import { methodOf } from '../../src/store/etcd/messages.js';
import { median } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { makePlace } from './place.js';
import { PODS, podBody } from './pods.js';
import { CLIENTS, createPods, readyApiServer } from './ready.js';
import { get } from './wire.js';

const COUNT = 4_000;
const ROUNDS = 3;
/** Three times the 790 a second of kube-apiserver with etcd. */
const MOST_US = 1e6 / (3 * 790);

export async function creates(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    const put = etcdPuts(await place.etcd());
    await createPods(wires, 'warm', COUNT);
    const stored = (await wires[0]?.ask(get(`${PODS}/warm-0`)))?.bytes ?? podBody('warm').length;
    const value = Buffer.alloc(stored, 'x');
    await put('warm', value, COUNT);
    const ours: number[] = [];
    const peers: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = server.cpuUs();
      ours.push(await createPods(wires, `r${round}`, COUNT));
      cpu.push((server.cpuUs() - before) / COUNT);
      peers.push(await put(`r${round}`, value, COUNT));
    }
    for (const wire of wires) wire.close();
    const createUs = median(ours);
    const name = `create a pod, ${CLIENTS} clients`;
    const rate = `${Math.round(1e6 / createUs)} a second, ${Math.round(median(cpu))} µs of the server's CPU`;
    const peer = { peer: 'etcd puts, grpc-js', peerValue: median(peers) };
    return [
      againstPeer({ name, value: createUs, unit: 'µs', ...peer }, 1 / 0.8),
      againstLimit({ name: `${name} (${rate})`, value: createUs, unit: 'µs' }, Math.round(MOST_US)),
    ];
  } finally {
    await place.clean();
  }
}

/** Plain puts from as many connections. */
function etcdPuts(endpoint: string) {
  const { path, requestSerialize, responseDeserialize } = methodOf('Put');
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  const target = endpoint.replace('http://', '');
  const clients = Array.from(
    { length: CLIENTS },
    () => new Client(target, credentials.createInsecure(), options),
  );
  const put = (client: Client, key: string, value: Buffer) =>
    new Promise<void>((resolve, reject) => {
      const request = { key: Buffer.from(key), value };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  return async (prefix: string, value: Buffer, count: number) => {
    let next = 0;
    const start = performance.now();
    await Promise.all(
      clients.map(async (client) => {
        while (next < count) await put(client, `/registry/pods/default/${prefix}-${next++}`, value);
      }),
    );
    return ((performance.now() - start) * 1000) / count;
  };
}
