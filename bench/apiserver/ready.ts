// An apiserver ready for pods, with wires to it.

import { PODS, podBody } from './pods.js';
import type { Place, ServerProcess } from './testbed.js';
import { drive, post, Wire } from './wire.js';

export const CLIENTS = 64;

export interface ReadyServer {
  readonly server: ServerProcess;
  readonly wires: readonly Wire[];
}

/** `flags` are Node's. */
export async function readyApiServer(place: Place, ...flags: readonly string[]): Promise<ReadyServer> {
  const server = await place.start('apiserver', flags);
  const wires = await openWires(place, server, CLIENTS);
  // Pods are admitted with the account of their namespace, which a controller would make.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  const body = Buffer.from(JSON.stringify(account));
  const path = '/api/v1/namespaces/default/serviceaccounts';
  await wires[0]?.ask(post(path, body));
  return { server, wires };
}

export async function openWires(place: Place, server: ServerProcess, count: number): Promise<Wire[]> {
  const wires: Wire[] = [];
  while (wires.length < count) {
    const batch = Math.min(50, count - wires.length);
    wires.push(...(await Promise.all(Array.from({ length: batch }, () => Wire.open(place, server)))));
  }
  return wires;
}

/** Time of one, in microseconds. The requests are made before the clock runs. */
export function createPods(wires: readonly Wire[], prefix: string, count: number): Promise<number> {
  const requests = Array.from({ length: count }, (_, i) => post(PODS, podBody(`${prefix}-${i}`)));
  return drive(wires, count, (i) => requests[i] as Buffer, 201);
}
