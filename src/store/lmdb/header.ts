// Looks at the first pages of an LMDB file before LMDB maps it. Pure.
// Guarantees: a file that is something else, or cut off, is recognised without being touched: reading past the end of a
// mapped file would kill the process (SIGBUS) instead of failing.
import { damaged } from './format.js';

const MAGIC = 0xbeefc0de;
const META_BYTES = 160;
/** Where the fields of a meta page are, in the LMDB that the lmdb package builds. */
const AT = { magic: 24, pageSize: 48, lastPage: 144, transaction: 152 } as const;
/** Pages at the end that a transaction took and freed again are never written, so a sound file may lack a few. */
const UNWRITTEN_PAGES = 64;

/** How many bytes of the file `checkHeader` wants to see. */
export const HEADER_BYTES = 65_536 + META_BYTES;

interface FileStart {
  readonly head: Buffer;
  readonly size: number;
}

/** Answers the size that the file must have for LMDB to map it safely; DAMAGED when it is no sound store. */
export function checkHeader({ head, size }: FileStart): number {
  if (head.length < META_BYTES || head.readUInt32LE(AT.magic) !== MAGIC)
    throw damaged('the file is not an LMDB file');
  const pageSize = head.readUInt32LE(AT.pageSize);
  if (pageSize < 256 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) {
    throw damaged('its page size makes no sense');
  }
  const second = head.subarray(pageSize);
  if (second.length < META_BYTES || second.readUInt32LE(AT.magic) !== MAGIC) {
    throw damaged('its second header is missing');
  }
  const newest = transactionOf(head) >= transactionOf(second) ? head : second;
  const wanted = (Number(newest.readBigUInt64LE(AT.lastPage)) + 1) * pageSize;
  if (!Number.isSafeInteger(wanted)) throw damaged('its page count makes no sense');
  if (size + UNWRITTEN_PAGES * pageSize < wanted) {
    throw damaged(`the file is cut off (it has ${size} bytes of ${wanted})`);
  }
  return wanted;
}

function transactionOf(meta: Buffer): bigint {
  return meta.readBigUInt64LE(AT.transaction);
}
