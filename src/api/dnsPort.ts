// How a node says that it has a name server for the cluster, and on which port: an annotation of its Node. Pure.
import type { V1Node } from './gen/types.js';

export const DNS_PORT_ANNOTATION = 'trellis.local/dns-port';

/** Undefined for a node that has none, or says what cannot be a port. */
export function dnsPortOf({ metadata }: V1Node): number | undefined {
  const text = metadata?.annotations?.[DNS_PORT_ANNOTATION] ?? '';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port <= 65_535 ? port : undefined;
}
