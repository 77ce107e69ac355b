// Proves what network policies decide: sends a packet from the pod, and asks the nodes on its way what their kernels did.
// Guarantees: the nodes of the two pods are asked through the API server, so that it works from anywhere; a packet that meets
// rules which are being written is sent again.
import { randomInt } from 'node:crypto';
import type { V1Pod } from '../api/gen/types.js';
import { canonicalIp } from '../api/ip.js';
import type { Stored } from '../api/object.js';
import type { Client } from '../client/client.js';
import { ClientError } from '../client/error.js';
import type { Probe, ProbeOutcome } from '../kernel/probe.js';
import type { JudgedPair, Question } from '../network/policy/explain.js';
import type { TracedNode } from '../network/policy/tracedText.js';
import type { TraceCalls } from '../network/policy/traceRoutes.js';

/** Above the ports that connections get by themselves. */
const PORTS = [61_000, 65_000] as const;
const TRIES = 5;

export interface Traced {
  readonly lines: readonly string[];
  readonly agrees: boolean;
}

export async function tracePair(
  client: Client,
  { pair, pods, question }: { pair: JudgedPair; pods: readonly Stored<V1Pod>[]; question: Question },
): Promise<Traced> {
  const { outcomeText, tracedAnswer } = await import('../network/policy/tracedText.js');
  const { port } = question;
  if (port === undefined)
    throw new ClientError('CONFIG', 'say which port the packet is for, such as pod/db:5432');
  const [from, to] = [podAt(pods, pair.source), podAt(pods, pair.destination)];
  const sender = from?.spec?.nodeName;
  if (from === undefined || sender === undefined)
    throw new ClientError('CONFIG', `no pod has ${pair.source}: a packet can be sent from a pod alone`);
  if (pair.source === pair.destination)
    throw new ClientError('CONFIG', 'what a pod sends to itself never leaves it, so that no node sees it');
  const nodes = [...new Set([sender, ...(to?.spec?.nodeName === undefined ? [] : [to.spec.nodeName])])];
  const addresses = { from: pair.source, to: pair.destination };
  for (let tries = 1; ; tries++) {
    const probe = { protocol: question.protocol, ...addresses, fromPort: randomInt(...PORTS), toPort: port };
    const { outcome, ways } = await sent(client, { probe, from, sender, nodes });
    if (outcome === 'taken' || (ways.some(({ way }) => way.isStale) && tries < TRIES)) continue;
    const { lines, agrees } = tracedAnswer(ways, pair.verdict);
    return { lines: [sentText(probe, from, { sender, outcome: outcomeText(outcome) }), ...lines], agrees };
  }
}

interface Sending {
  readonly probe: Probe;
  readonly from: Stored<V1Pod>;
  readonly sender: string;
  readonly nodes: readonly string[];
}

async function sent(
  client: Client,
  { probe, from: { metadata }, sender, nodes }: Sending,
): Promise<{ outcome: ProbeOutcome | 'taken'; ways: TracedNode[] }> {
  const ids = await Promise.all(nodes.map((node) => call(client, node, 'begin', { probe })));
  const pod = { namespace: metadata.namespace ?? '', name: metadata.name };
  const sending = call(client, sender, 'send', { probe, pod });
  // Ended also when nothing was sent.
  await sending.catch(() => undefined);
  const ways = await Promise.all(
    nodes.map(async (node, i) => ({ node, way: await call(client, node, 'end', { id: ids[i]?.id ?? '' }) })),
  );
  return { outcome: (await sending).outcome, ways };
}

async function call<C extends keyof TraceCalls>(
  client: Client,
  node: string,
  name: C,
  asked: TraceCalls[C]['asked'],
): Promise<TraceCalls[C]['answer']> {
  const { TRACE_PATH } = await import('../network/policy/traceRoutes.js');
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy${TRACE_PATH}/${name}`;
  return client.raw<TraceCalls[C]['answer']>('POST', path, asked).catch((cause: unknown) => {
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new ClientError('CONFIG', `node ${node} does not trace packets: ${words}`, { cause });
  });
}

const podAt = (pods: readonly Stored<V1Pod>[], ip: string) =>
  pods.find(
    ({ spec, status }) =>
      spec?.hostNetwork !== true &&
      status?.phase !== 'Succeeded' &&
      status?.phase !== 'Failed' &&
      (status?.podIPs ?? []).some((own) => canonicalIp(own.ip ?? '') === ip),
  );

function sentText(
  { protocol, from, fromPort, to, toPort }: Probe,
  { metadata }: Stored<V1Pod>,
  { sender, outcome }: { readonly sender: string; readonly outcome: string },
): string {
  const at = (ip: string, port: number) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);
  const what = { tcp: 'a TCP SYN', udp: 'an empty UDP datagram', sctp: 'an SCTP INIT' }[protocol];
  return (
    `sent ${what} from ${at(from, fromPort)} to ${at(to, toPort)} ` +
    `out of pod ${metadata.namespace}/${metadata.name} on ${sender}: ${outcome}`
  );
}
