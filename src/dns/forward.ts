// Queries for names outside the cluster: forwarded to the host's name servers, answers cached for their TTL.
// Guarantees: equal queries share one in flight; an answer must match its query; memory and connections are bounded; a server
// that does not answer is used after the others.
import { randomInt } from 'node:crypto';
import net, { isIP } from 'node:net';
import packet, { type Answer, type Packet } from 'dns-packet';
import { canonicalIp } from '../api/ip.js';
import type { Log } from '../api/log.js';
import { Tally } from '../base/tally.js';
import { OPT, type Reply, type ResponseCode } from './message.js';
import { Upstream } from './upstream.js';

interface ForwarderOptions {
  /** In the order they are asked. */
  readonly servers: readonly string[];
  readonly timeoutMs?: number;
  readonly port?: number;
  readonly log: Log;
  now?(): number;
}

export interface Forwarder {
  ask(name: string, type: string): Promise<Reply>;
}

const SERVER_PORT = 53;
const TIMEOUT_MS = 2_000;
const MAX_ENTRIES = 10_000;
const MAX_TTL_S = 3_600;
const NEGATIVE_TTL_S = 30;
/** Connections to name servers; each takes a descriptor of the process. */
export const MAX_CONNECTIONS = 128;
const CODES: Readonly<Record<number, ResponseCode>> = {
  0: 'NOERROR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  5: 'REFUSED',
};

/** Where our own server is reached. */
interface OwnServer {
  readonly address: string;
  readonly port: number;
  /** The address of the Service in front of it. */
  readonly serviceAddress: string;
}

/** The servers of a resolv.conf without ourselves; another server on our address has its port. Pure. */
export function serversOf(resolvConf: string, { address, port, serviceAddress }: OwnServer): string[] {
  const ourselves = [serviceAddress, ...(port === SERVER_PORT ? [address] : [])].map(canonicalIp);
  return resolvConf
    .split('\n')
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? '')
    .filter((server) => isIP(server.split('%')[0] ?? '') !== 0)
    .filter((server) => !ourselves.includes(canonicalIp(server) ?? server));
}

interface Kept {
  readonly reply: Reply;
  readonly from: number;
  readonly until: number;
}

export function makeForwarder(options: ForwarderOptions): Forwarder {
  const { servers, timeoutMs = TIMEOUT_MS, port = SERVER_PORT, log, now = Date.now } = options;
  const kept = new Map<string, Kept>();
  const asking = new Map<string, Promise<Reply>>();
  const connections = new Tally();
  const upstreams = servers.map((server) => ({ server, upstream: new Upstream({ server, port, now }) }));

  const askServers = async (name: string, type: string): Promise<Reply> => {
    // Those that do not answer come last: they cost a question time only where nobody else answers.
    const order = [...upstreams].sort(
      (one, other) => Number(one.upstream.isResting) - Number(other.upstream.isResting),
    );
    for (const { server, upstream } of order) {
      try {
        const answer = await exchange({ upstream, connections, server, port, name, type, timeoutMs });
        return replyOf(answer);
      } catch (error) {
        log.debug('a name server did not answer', { server, error });
      }
    }
    return { code: 'SERVFAIL', authoritative: false, answers: [] };
  };
  const keep = (key: string, reply: Reply) => {
    const ttl = ttlOf(reply);
    if (ttl === 0) return;
    // The oldest goes first: a Map remembers the order of insertion.
    const [oldest] = kept.keys();
    if (kept.size >= MAX_ENTRIES && oldest !== undefined) kept.delete(oldest);
    kept.set(key, { reply, from: now(), until: now() + ttl * 1000 });
  };
  return {
    async ask(name, type) {
      const key = `${type} ${name}`;
      const found = kept.get(key);
      if (found !== undefined && found.until > now()) return aged(found, now());
      kept.delete(key);
      const underWay = asking.get(key);
      if (underWay !== undefined) return underWay;
      const question = askServers(name, type).finally(() => asking.delete(key));
      asking.set(key, question);
      const reply = await question;
      keep(key, reply);
      return reply;
    },
  };
}

function replyOf(message: Packet): Reply {
  return {
    code: CODES[(message.flags ?? 0) & 0xf] ?? 'SERVFAIL',
    authoritative: false,
    answers: message.answers ?? [],
    authorities: message.authorities ?? [],
  };
}

/** Seconds an answer may be kept: the shortest of its records; a refusal as its zone says (RFC 2308), not longer than ours. */
function ttlOf({ code, answers, authorities = [] }: Reply): number {
  if (code !== 'NOERROR' && code !== 'NXDOMAIN') return 0;
  if (answers.length > 0) return Math.min(MAX_TTL_S, ...answers.map(ttl));
  const soa = authorities.find((record) => record.type === 'SOA');
  return soa === undefined ? 0 : Math.min(NEGATIVE_TTL_S, ttl(soa), soa.data.minimum ?? 0);
}

const ttl = (record: Answer): number => ('ttl' in record ? (record.ttl ?? 0) : 0);

/** The answer with what is left of its time. */
function aged({ reply, from }: Kept, now: number): Reply {
  const seconds = Math.floor((now - from) / 1000);
  const older = (record: Answer): Answer =>
    'ttl' in record ? ({ ...record, ttl: Math.max(0, ttl(record) - seconds) } as Answer) : record;
  return { ...reply, answers: reply.answers.map(older), authorities: (reply.authorities ?? []).map(older) };
}

interface Exchange {
  readonly upstream: Upstream;
  readonly connections: Tally;
  readonly server: string;
  readonly port: number;
  readonly name: string;
  readonly type: string;
  readonly timeoutMs: number;
}

async function exchange(options: Exchange): Promise<Packet> {
  const { upstream, connections, server, name, type, timeoutMs } = options;
  const encode = (id: number) => encodeQuestion(id, name, type);
  const read = (bytes: Buffer, id: number) => {
    const message = tryDecode(bytes);
    const [asked] = message?.questions ?? [];
    const isAnswer =
      message?.id === id &&
      message.type === 'response' &&
      asked?.name.toLowerCase().replace(/\.$/, '') === name &&
      asked.type === type;
    return isAnswer ? message : undefined;
  };
  const answer = await upstream.ask<Packet>({ encode, read }, timeoutMs);
  if (((answer.flags ?? 0) & packet.TRUNCATED_RESPONSE) === 0) return answer;
  if (connections.all >= MAX_CONNECTIONS) throw new Error('too many questions over TCP are under way');
  const leave = connections.take(server);
  const id = randomInt(0x10000);
  return overTcp(options, encode(id), (bytes) => read(bytes, id)).finally(leave);
}

function encodeQuestion(id: number, name: string, type: string): Buffer {
  return packet.encode({
    id,
    type: 'query',
    flags: packet.RECURSION_DESIRED,
    questions: [{ name, type: type as never, class: 'IN' }],
    additionals: [OPT],
  });
}

function overTcp(
  { server, port, timeoutMs }: Exchange,
  question: Buffer,
  read: (bytes: Buffer) => Packet | undefined,
): Promise<Packet> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: server, port });
    let received = Buffer.alloc(0);
    socket.setTimeout(timeoutMs, () =>
      socket.destroy(new Error(`no answer over TCP within ${timeoutMs} ms`)),
    );
    socket.on('error', reject);
    socket.on('connect', () => socket.write(withLength(question)));
    socket.on('close', () => reject(new Error('the name server closed the connection')));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = read(received.subarray(2, 2 + received.readUInt16BE(0)));
      if (message !== undefined) resolve(message);
      socket.destroy();
    });
  });
}

/** Over TCP a message follows its length (RFC 1035, 4.2.2). */
export function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

function tryDecode(bytes: Buffer): Packet | undefined {
  try {
    return packet.decode(bytes);
  } catch {
    return undefined;
  }
}
