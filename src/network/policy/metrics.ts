// What the policies of a node refused, for Prometheus: the counters of its tables, and a small server for whoever runs alone.
// Guarantees: a handful of series, however many pods and policies; a read asks for three chains a family, not for the table.
import http from 'node:http';
import { Gauge, type Labels, METRICS_TYPE, metricsText } from '../../base/metrics.js';
import { type Listening, listen } from '../../client/listen.js';
import type { NftPort } from '../../kernel/nftables/port.js';
import { DIRECTIONS } from './model.js';
import * as names from './names.js';
import { FAMILIES, type PolicyFamily } from './table.js';

type Sample = readonly [labels: Labels, packets: number];

const REQUEST_TIMEOUT_MS = 10_000;
const FAMILY_NAMES: Readonly<Record<PolicyFamily, string>> = { ip: 'ipv4', ip6: 'ipv6' };

/** The text that Prometheus reads. A family that the node has no table of counts as nothing refused. */
export async function policyMetrics(nft: NftPort, table: string): Promise<string> {
  const refused: Sample[] = [];
  const unjudged: Sample[] = [];
  for (const family of FAMILIES) {
    const named = { family: FAMILY_NAMES[family] };
    const packets = (chain: string) => packetsOf(nft, { family, table, chain });
    for (const direction of DIRECTIONS)
      refused.push([{ ...named, direction }, await packets(names.refusedChain(direction))]);
    unjudged.push([named, await packets(names.UNJUDGED)]);
  }
  const counter = (name: string, help: string, samples: readonly Sample[]) =>
    new Gauge({ name, help, type: 'counter' }, () => samples);
  return metricsText([
    counter(
      'trellis_network_policy_refused_packets_total',
      'Packets that no policy of a pod of this node allows, by the direction that refused them.',
      refused,
    ),
    counter(
      'trellis_network_policy_unjudged_packets_total',
      'Packets from or to addresses of this node whose policies were not in place yet.',
      unjudged,
    ),
  ]);
}

async function packetsOf(
  nft: NftPort,
  place: { family: PolicyFamily; table: string; chain: string },
): Promise<number> {
  let sum = 0;
  for (const { expressions } of await nft.rules(place))
    for (const expression of expressions) if ('counter' in expression) sum += expression.counter.packets ?? 0;
  return sum;
}

/** Plain HTTP: GET /metrics and nothing else. */
export async function servePolicyMetrics(
  at: { readonly host: string; readonly port: number },
  read: () => Promise<string>,
): Promise<Listening> {
  const server = http.createServer(async (request, response) => {
    const isRead = request.method === 'GET' && request.url?.split('?', 1)[0] === '/metrics';
    const body = isRead ? await read().catch(() => undefined) : '404 page not found\n';
    response.writeHead(isRead ? (body === undefined ? 500 : 200) : 404, {
      'content-type': isRead ? METRICS_TYPE : 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    response.end(body ?? 'the rules of network policies could not be read\n');
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  return listen(server, at);
}
