// The cluster's name server: its own names from the zone, all others from the forwarder, over UDP and TCP.
// Guarantees: answers only those it serves; every question gets one answer, REFUSED where too many are under way; a client that
// finishes no question holds its connection for idleMs at most, and no client holds all; one that does not read is not read
// from; closing waits for no client.
import dgram from 'node:dgram';
import net, { type AddressInfo, BlockList, isIP, type Socket } from 'node:net';
import type { Log } from '../api/log.js';
import { Tally } from '../base/tally.js';
import { type Forwarder, withLength } from './forward.js';
import { lookUp, startOfAuthority, TTL_S } from './lookup.js';
import { type Question, type Reply, readQuestion, toAnswer, writeRefusal, writeReply } from './message.js';
import { QuestionLoad } from './questionLoad.js';
import type { Zone } from './zone.js';

interface DnsServerOptions {
  readonly zone: Zone;
  readonly forwarder: Forwarder;
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Ranges whose questions are answered, besides this machine's own. Others are refused: it is no open resolver. */
  readonly serves: readonly string[];
  /** Also these; the address is in its shortest form. */
  alsoServes?(address: string): boolean;
  /** After which a connection ends on which no question was finished or answered. */
  readonly idleMs?: number;
  readonly log: Log;
}

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** As CoreDNS. */
const MAX_ALIASES = 8;
const TCP_IDLE_MS = 10_000;
export const MAX_TCP = 512;
/** A whole node may ask under one address. */
export const MAX_TCP_OF_CLIENT = 128;
/** Of one connection; the rest waits unread. */
const MAX_TCP_QUESTIONS = 16;
const MAX_MESSAGE = 65_535;

export async function openDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const { address, port, idleMs = TCP_IDLE_MS } = options;
  const mayAsk = askers(options);
  const load = new QuestionLoad();
  const family = isIP(address) === 6 ? 'udp6' : 'udp4';
  const clients = new Set<Socket>();
  const connections = new Tally();
  let isOpen = true;
  const tcp = net.createServer((socket) => {
    const { remoteAddress: from = '' } = socket;
    socket.on('error', () => socket.destroy());
    if (!mayAsk(from) || connections.of(from) >= MAX_TCP_OF_CLIENT) return void socket.destroy();
    clients.add(socket);
    const leave = connections.take(from);
    // Not the socket's own, which every single byte would put off.
    const idle = setTimeout(() => socket.destroy(), idleMs);
    socket.on('close', () => {
      clearTimeout(idle);
      clients.delete(socket);
      leave();
    });
    serveTcp(options, socket, { load, onProgress: () => idle.refresh() }).then(
      () => socket.end(),
      () => socket.destroy(),
    );
  });
  tcp.maxConnections = MAX_TCP;
  await listening(tcp, () => tcp.listen(port, address));
  const bound = (tcp.address() as AddressInfo).port;
  const udp = dgram.createSocket(family);
  udp.on('message', (bytes, { address: from, port: source }) => {
    const leave = mayAsk(from) ? load.enter(from) : undefined;
    respond(options, bytes, { limit: undefined, refuse: leave === undefined })
      .then((reply) => isOpen && reply !== undefined && udp.send(reply, source, from))
      .catch((error: unknown) => options.log.error('a question could not be answered', { error }))
      .finally(leave);
  });
  await listening(udp, () => udp.bind(bound, address));
  udp.on('error', (error) => options.log.warn('the DNS socket reported an error', { error }));
  return {
    port: bound,
    close: async () => {
      isOpen = false;
      for (const socket of clients) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ]);
    },
  };
}

function listening(
  server: { once(event: string, act: (...words: never[]) => void): unknown },
  start: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => resolve());
    start();
  });
}

/** Who is answered. */
export function askers({
  serves,
  address,
  alsoServes = () => false,
}: Pick<DnsServerOptions, 'serves' | 'address' | 'alsoServes'>): (from: string) => boolean {
  const list = new BlockList();
  for (const range of [...serves, '127.0.0.0/8', '::1/128', `${address}/${isIP(address) === 6 ? 128 : 32}`]) {
    const [network = '', prefix = ''] = range.split('/');
    if (isIP(network) !== 0) list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4');
  }
  return (from) => {
    const plain = from.replace(/^::ffff:/, '');
    return list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4') || alsoServes(plain);
  };
}

/** Nothing for what is not worth an answer: noise, and answers to questions that nobody asked. */
async function respond(
  options: DnsServerOptions,
  bytes: Buffer,
  { limit, refuse }: { readonly limit: number | undefined; readonly refuse: boolean },
): Promise<Buffer | undefined> {
  const question = readQuestion(bytes);
  if (question === undefined) return undefined;
  if ('refuse' in question) return writeRefusal(question.id, question.refuse);
  if (refuse) return writeRefusal(question.id, 'REFUSED');
  return writeReply(question, await answer(options, question), limit ?? question.udpSize);
}

/** `aliases` is how many led here: whoever makes Services may have them go round in a circle. */
async function answer(
  { zone, forwarder }: Pick<DnsServerOptions, 'zone' | 'forwarder'>,
  { name, type }: Pick<Question, 'name' | 'type'>,
  aliases = 0,
): Promise<Reply> {
  const own = lookUp(zone, name, type);
  if (own === undefined) return forwarder.ask(name, type);
  const answers = own.answers.map((record) => toAnswer(record, TTL_S));
  const [alias] = own.answers;
  // Askers want the address of an alias in the same answer, wherever it is.
  const behind =
    alias?.type === 'CNAME' && type !== 'CNAME' && aliases < MAX_ALIASES
      ? await answer({ zone, forwarder }, { name: alias.data, type }, aliases + 1)
      : undefined;
  return {
    code: own.exists ? 'NOERROR' : 'NXDOMAIN',
    authoritative: true,
    answers: [...answers, ...(behind?.answers ?? [])],
    authorities: answers.length > 0 ? [] : [toAnswer(startOfAuthority(zone), TTL_S)],
    additionals: own.additionals.map((record) => toAnswer(record, TTL_S)),
  };
}

/** Reads on only while few of its questions are under way and what it was answered leaves. */
async function serveTcp(
  options: DnsServerOptions,
  socket: Socket,
  { load, onProgress }: { readonly load: QuestionLoad; onProgress(): void },
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const client = socket.remoteAddress ?? '';
  const answerTo = async (message: Buffer) => {
    const leave = load.enter(client);
    try {
      const reply = await respond(options, message, { limit: MAX_MESSAGE, refuse: leave === undefined });
      if (reply !== undefined && socket.writable && !socket.write(withLength(reply))) await drained(socket);
    } finally {
      if (!socket.destroyed) onProgress();
      leave?.();
    }
  };
  for await (const message of messagesOf(socket)) {
    onProgress();
    // Nobody may be waiting for it when it fails.
    const answering = answerTo(message)
      .catch(() => void socket.destroy())
      .finally(() => underWay.delete(answering));
    underWay.add(answering);
    if (underWay.size >= MAX_TCP_QUESTIONS) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

/** The messages of a stream, each after its length; no more is read than the stream's own buffer and one message. */
async function* messagesOf(socket: Socket): AsyncGenerator<Buffer> {
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk as Buffer]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      yield received.subarray(2, end);
      received = received.subarray(end);
    }
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}
