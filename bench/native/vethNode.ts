// The place of the veth benchmarks: a host with a bridge and many empty pods, each a namespace.
// Guarantees: everything is gone after removeNode.
import { openRoute } from '../../src/kernel/route/adapter.js';
import { benchNetNs, removeNetNs } from '../lib/tool.js';

export interface Node {
  readonly host: string;
  readonly pods: readonly string[];
}

export const GATEWAY = '10.1.255.254';
export const podAddress = (i: number) => `10.1.${i >> 8}.${i & 255}`;

export async function makeNode(count: number): Promise<Node> {
  const host = await benchNetNs();
  const pods: string[] = [];
  for (let i = 0; i < count; i++) pods.push(await benchNetNs());
  const route = await openRoute(host);
  await route.apply([
    { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mac: '02:00:00:00:00:01', up: true },
    { do: 'add', kind: 'address', dev: 'br0', address: `${GATEWAY}/16` },
  ]);
  route.close();
  return { host, pods };
}

export async function removeNode({ host, pods }: Node): Promise<void> {
  for (const path of [...pods, host]) await removeNetNs(path);
}
