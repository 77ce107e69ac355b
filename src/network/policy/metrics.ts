// What the policies of a node allowed and refused, for Prometheus: the counters of its tables, and a small server for whoever
// runs alone.
// Guarantees: a bounded number of series, however many pods and policies; a read is one list of rules per family.
import http from 'node:http';
import { Gauge, type Labels, METRICS_TYPE, metricsText } from '../../base/metrics.js';
import { type Listening, listen } from '../../client/listen.js';
import type { ListedRule, NftPort } from '../../kernel/nftables/port.js';
import { DIRECTIONS, type Direction } from './model.js';
import * as names from './names.js';
import type { Images } from './sharedSets.js';
import { FAMILIES, type PolicyFamily } from './table.js';
import type { Decision } from './tableImage.js';

type Sample = readonly [labels: Labels, packets: number];

const REQUEST_TIMEOUT_MS = 10_000;
const FAMILY_NAMES: Readonly<Record<PolicyFamily, string>> = { ip: 'ipv4', ip6: 'ipv6' };
/** Of so many policies, in the order of their names, packets are told one by one. */
const MAX_POLICIES = 1_000;

/** The text that Prometheus reads. A family that the node has no table of counts as nothing refused. */
export async function policyMetrics(nft: NftPort, table: string, images: Images): Promise<string> {
  const refused: Sample[] = [];
  const unjudged: Sample[] = [];
  const byPolicy = new PacketsByPolicy();
  for (const family of FAMILIES) {
    const named = { family: FAMILY_NAMES[family] };
    const chains = byChain(await nft.rules({ family, table }));
    const packets = (chain: string) =>
      (chains.get(chain) ?? []).reduce((sum, rule) => sum + packetsOf(rule), 0);
    for (const direction of DIRECTIONS)
      refused.push([{ ...named, direction }, packets(names.refusedChain(direction))]);
    unjudged.push([named, packets(names.UNJUDGED)]);
    for (const [chain, rules] of chains) {
      const meant = images[family].rulesOf(chain);
      // What is being written anew is told next time.
      if (meant.length === rules.length)
        for (const [i, rule] of rules.entries()) byPolicy.add(chain, meant[i]?.decision, packetsOf(rule));
    }
  }
  return metricsText(families({ refused, unjudged, ...byPolicy.samples() }));
}

function families(
  samples: Readonly<Record<'refused' | 'unjudged' | 'decided', Sample[]>> & { leftOut: number },
) {
  const counter = (name: string, help: string, read: readonly Sample[]) =>
    new Gauge({ name: `trellis_network_policy_${name}_packets_total`, help, type: 'counter' }, () => read);
  return [
    counter(
      'refused',
      'Packets that no policy of a pod of this node allows, by the direction that refused them.',
      samples.refused,
    ),
    counter(
      'unjudged',
      'Packets from or to addresses of this node whose policies were not in place yet.',
      samples.unjudged,
    ),
    counter(
      'decided',
      'First packets of connections that a rule of this policy allowed, refused or passed on, or that the policies of a pod refused together, of which this is one.',
      samples.decided,
    ),
    new Gauge(
      {
        name: 'trellis_network_policy_uncounted_policies',
        help: 'Policies whose packets are not told one by one, since there are too many.',
      },
      () => [[{}, samples.leftOut]],
    ),
  ];
}

/** What each policy decided, of both families together. */
class PacketsByPolicy {
  readonly #packets = new Map<string, Map<string, number>>();

  add(chain: string, decision: Decision | undefined, packets: number): void {
    if (decision === undefined) return;
    const direction: Direction = chain.startsWith('ingress') ? 'ingress' : 'egress';
    for (const policy of decision.policies) {
      const kinds = this.#packets.get(policy) ?? new Map<string, number>();
      this.#packets.set(policy, kinds);
      const kind = `${direction} ${decision.outcome}`;
      kinds.set(kind, (kinds.get(kind) ?? 0) + packets);
    }
  }

  samples(): { readonly decided: Sample[]; readonly leftOut: number } {
    const told = [...this.#packets].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_POLICIES);
    const decided = told.flatMap(([key, kinds]) => {
      const slash = key.indexOf('/');
      const named = { namespace: key.slice(0, Math.max(slash, 0)), policy: key.slice(slash + 1) };
      return [...kinds].map(([kind, packets]): Sample => {
        const [direction = '', outcome = ''] = kind.split(' ');
        return [{ ...named, direction, outcome }, packets];
      });
    });
    return { decided, leftOut: this.#packets.size - told.length };
  }
}

function byChain(rules: readonly ListedRule[]): Map<string, ListedRule[]> {
  const chains = new Map<string, ListedRule[]>();
  for (const rule of rules) {
    const known = chains.get(rule.chain);
    if (known === undefined) chains.set(rule.chain, [rule]);
    else known.push(rule);
  }
  return chains;
}

function packetsOf({ expressions }: ListedRule): number {
  let sum = 0;
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
