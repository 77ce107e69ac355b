// DNS messages: a question read from bytes, an answer written to them.
// Guarantees: hostile bytes are refused, never thrown on; an answer fits what the asker can take: it holds the first records
// that do, and says so when answers are missing. What does not fit is not encoded.
import packet, { type Answer, type Packet } from 'dns-packet';
import type { DnsRecord } from './lookup.js';

export interface Question {
  readonly id: number;
  /** Lower case, without the last dot. */
  readonly name: string;
  readonly type: string;
  readonly recursionDesired: boolean;
  /** Bytes that the asker takes over UDP; 512 without EDNS. */
  readonly udpSize: number;
  readonly edns: boolean;
  /** The question as it was written: askers may compare its case. */
  readonly written: { readonly name: string; readonly type: string; readonly class: string };
}

export type ResponseCode = 'NOERROR' | 'FORMERR' | 'SERVFAIL' | 'NXDOMAIN' | 'NOTIMP' | 'REFUSED';

const CODES: Readonly<Record<ResponseCode, number>> = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
};
/** Behind the header of 12 bytes (RFC 1035, 4.1.4). */
const QUESTION_NAME = Buffer.from([0xc0, 0x0c]);
/** Parts of the library that its types leave out. */
const codec = packet as unknown as {
  readonly answer: { encode(record: Answer): Buffer };
  readonly name: { encodingLength(name: string): number };
};
const PLAIN_UDP = 512;
/** What passes any network in one piece (DNS flag day 2020). */
const EDNS_UDP = 1232;
/** Says that answers of that size are taken. */
export const OPT = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: EDNS_UDP,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
} as unknown as Answer;

/** The question, or why there is none: a code to answer with, or nothing for what is not worth an answer. */
export function readQuestion(
  bytes: Buffer,
): Question | { readonly id: number; readonly refuse: ResponseCode } | undefined {
  if (bytes.length < 12) return undefined;
  const id = bytes.readUInt16BE(0);
  let message: Packet;
  try {
    message = packet.decode(bytes);
  } catch {
    return { id, refuse: 'FORMERR' };
  }
  if (message.type === 'response') return undefined;
  const [question, ...more] = message.questions ?? [];
  if ((bytes.readUInt16BE(2) & 0x7800) !== 0) return { id, refuse: 'NOTIMP' };
  if (question === undefined || more.length > 0) return { id, refuse: 'FORMERR' };
  if (question.class !== undefined && question.class !== 'IN') return { id, refuse: 'REFUSED' };
  const opt = message.additionals?.find((record) => record.type === 'OPT');
  const udpSize =
    opt === undefined ? PLAIN_UDP : Math.max(PLAIN_UDP, Math.min(opt.udpPayloadSize ?? 0, EDNS_UDP));
  return {
    id,
    name: question.name.toLowerCase().replace(/\.$/, ''),
    type: question.type,
    recursionDesired: ((message.flags ?? 0) & packet.RECURSION_DESIRED) !== 0,
    udpSize,
    edns: opt !== undefined,
    written: { name: question.name, type: question.type, class: 'IN' },
  };
}

export interface Reply {
  readonly code: ResponseCode;
  readonly authoritative: boolean;
  readonly answers: readonly Answer[];
  readonly authorities?: readonly Answer[];
  readonly additionals?: readonly Answer[];
}

/** `limit` is the most bytes. Whoever needs what is missing comes by TCP; other records are left out silently. */
export function writeReply(question: Question, reply: Reply, limit: number): Buffer {
  const head = encodeHead(question, reply);
  const opt = question.edns ? [codec.answer.encode(OPT)] : [];
  let left = limit - head.length - lengthOf(opt);
  const fitting = (records: readonly Answer[] = []): Buffer[] => {
    const encoded: Buffer[] = [];
    for (const record of records) {
      const bytes = encodeRecord(record, question.written.name);
      left -= bytes.length;
      if (left < 0) break;
      encoded.push(bytes);
    }
    return encoded;
  };
  const sections = [
    fitting(reply.answers),
    fitting(reply.authorities),
    fitting(reply.additionals).concat(opt),
  ];
  sections.forEach((records, index) => {
    head.writeUInt16BE(records.length, 6 + 2 * index);
  });
  const isCut = (sections[0] ?? []).length < reply.answers.length;
  if (isCut) head.writeUInt16BE(head.readUInt16BE(2) | packet.TRUNCATED_RESPONSE, 2);
  return Buffer.concat([head, ...sections.flat()]);
}

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);

export function writeRefusal(id: number, code: ResponseCode): Buffer {
  return packet.encode({ id, type: 'response', flags: CODES[code], questions: [] });
}

/** The header and the question; no record is counted yet. */
function encodeHead(question: Question, { code, authoritative }: Reply): Buffer {
  const flags =
    CODES[code] |
    packet.RECURSION_AVAILABLE |
    (question.recursionDesired ? packet.RECURSION_DESIRED : 0) |
    (authoritative ? packet.AUTHORITATIVE_ANSWER : 0);
  return packet.encode({
    id: question.id,
    type: 'response',
    flags,
    questions: [question.written as never],
  });
}

/** The library writes every name in full; the question's own, which most records bear, becomes a pointer to it. */
function encodeRecord(record: Answer, asked: string): Buffer {
  const bytes = codec.answer.encode(record);
  if (record.name.toLowerCase() !== asked.toLowerCase()) return bytes;
  return Buffer.concat([QUESTION_NAME, bytes.subarray(codec.name.encodingLength(record.name))]);
}

/** A record of the zone in the library's words. */
export function toAnswer(record: DnsRecord, ttl: number): Answer {
  if (record.type !== 'SRV') return { ...record, ttl, class: 'IN' } as Answer;
  return { ...record, ttl, class: 'IN', data: { ...record.data, priority: 0, weight: 100 } } as Answer;
}
