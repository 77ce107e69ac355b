// What a node answers about traces over HTTP: begin one, send a packet from a pod of this node, and say what became of it.
// Guarantees: who asks has been let in before; nothing but POST, and no more than a small body is read.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { canonicalIp } from '../../api/ip.js';
import { messageOf } from '../../base/errorMessage.js';
import type { NetNs } from '../../kernel/addon.js';
import { KernelError } from '../../kernel/error.js';
import { type Probe, type ProbeOutcome, sendProbe } from '../../kernel/probe.js';
import type { TracedWay } from './tracedWay.js';
import type { PolicyTracer } from './tracer.js';

export const TRACE_PATH = '/network-policy/trace';

export interface TracedPod {
  readonly namespace: string;
  readonly name: string;
}

/** By the last part of the path. */
export interface TraceCalls {
  begin: { readonly asked: { readonly probe: Probe }; readonly answer: { readonly id: string } };
  send: {
    readonly asked: { readonly probe: Probe; readonly pod: TracedPod };
    /** "taken": that port is in use in the pod, and another will do. */
    readonly answer: { readonly outcome: ProbeOutcome | 'taken' };
  };
  end: {
    readonly asked: { readonly id: string };
    readonly answer: TracedWay & { readonly table: string };
  };
}

export interface TraceRoutesOptions {
  readonly tracer: Pick<PolicyTracer, 'begin' | 'end'>;
  readonly table: string;
  /** The network namespace of a pod of this node; rejects when there is none. */
  netnsOf(pod: TracedPod): Promise<NetNs>;
}

type Handlers = {
  [C in keyof TraceCalls]: (asked: TraceCalls[C]['asked']) => Promise<TraceCalls[C]['answer']>;
};

const MOST_BYTES = 4_096;
const ANSWER_MS = 1_000;
const PROTOCOLS: readonly unknown[] = ['tcp', 'udp', 'sctp'] satisfies Probe['protocol'][];

/** Returns false for a path that is not its own. */
export function traceRoutes({ tracer, table, netnsOf }: TraceRoutesOptions) {
  const handlers: Handlers = {
    begin: async ({ probe }) => ({ id: await tracer.begin(checked(probe)) }),
    send: async ({ probe, pod }) => ({ outcome: await sent(await netnsOf(pod), checked(probe)) }),
    end: async ({ id }) => ({ ...(await tracer.end(id)), table }),
  };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const name = path.startsWith(`${TRACE_PATH}/`) ? path.slice(TRACE_PATH.length + 1) : '';
    const handler = Object.entries(handlers).find(([own]) => own === name)?.[1];
    if (handler === undefined || request.method !== 'POST') return false;
    answer(request, response, handler as (asked: unknown) => Promise<object>);
    return true;
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  handler: (asked: unknown) => Promise<object>,
): Promise<void> {
  const say = (status: number, type: string, body: string) =>
    response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body);
  try {
    say(200, 'application/json', JSON.stringify(await handler(await bodyOf(request))));
  } catch (error) {
    const status = error instanceof BadRequest ? 400 : 500;
    if (!response.destroyed) say(status, 'text/plain; charset=utf-8', `${messageOf(error)}\n`);
  }
}

class BadRequest extends Error {}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new BadRequest(`more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // Said below.
  }
  throw new BadRequest('expected a JSON object');
}

function checked(probe: Partial<Probe> | undefined): Probe {
  const { protocol, from, to, fromPort, toPort } = probe ?? {};
  const isPort = (port: unknown) => Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;
  const isIp = (ip: unknown) => typeof ip === 'string' && canonicalIp(ip) === ip;
  if (!PROTOCOLS.includes(protocol) || !isIp(from) || !isIp(to) || !isPort(fromPort) || !isPort(toPort))
    throw new BadRequest('expected a protocol, two addresses and two ports');
  return { protocol, from, to, fromPort, toPort } as Probe;
}

async function sent(netns: NetNs, probe: Probe): Promise<ProbeOutcome | 'taken'> {
  try {
    return await sendProbe(netns, probe, ANSWER_MS);
  } catch (error) {
    if (error instanceof KernelError && error.code === 'EADDRINUSE') return 'taken';
    throw error;
  }
}
