// An object's bytes: serialised once without its resourceVersion, which is spliced in when the store has answered it.
// Guarantees: the stored bytes start with kind, apiVersion and metadata, so the splice needs no parsing.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { apiVersionOf } from '../../api/resources.js';
import { managedFieldsText } from '../fields/created.js';

const OPEN = '"metadata":{';
const NEW_LINE = 0x0a;

/** The bytes to store: metadata.resourceVersion is left out, the store's revision is the truth. */
export function encodeForStore(kind: KindDefinition, object: KubeObject): Buffer {
  const { apiVersion: own, kind: _k, metadata, ...rest } = object;
  const { resourceVersion: _r, managedFields = [], ...meta } = metadata ?? {};
  // Objects of one custom kind may lie in the store in several versions.
  const apiVersion = kind.custom === undefined ? undefined : own;
  const head = JSON.stringify({
    kind: kind.type.kind,
    apiVersion: apiVersion ?? apiVersionOf(kind.type),
    metadata: meta,
  });
  const tail = JSON.stringify(rest);
  const managers = managedFields.length === 0 ? '' : `"managedFields":${managedFieldsText(managedFields)}`;
  const comma = managers === '' || head.endsWith(`${OPEN}}}`) ? '' : ',';
  return Buffer.from(`${head.slice(0, -2)}${comma}${managers}}${tail === '{}' ? '}' : `,${tail.slice(1)}`}`);
}

/**
 * The bytes to send: JSON and the end of a line, which an answer has and a list may have between its items. A copy: the
 * store's buffer may be a view of its map.
 */
export function withRevision(stored: Uint8Array, revision: number): Buffer {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const at = bytes.indexOf(OPEN);
  if (at === -1)
    throw new Error('a stored object has no metadata; the store holds what this server did not write');
  const cut = at + OPEN.length;
  // Metadata is never empty in what we store (it has a name), but a comma before "}" would be invalid JSON.
  const comma = bytes[cut] === 0x7d ? '' : ',';
  const inserted = `"resourceVersion":"${revision}"${comma}`;
  // Not of Node's pool: these bytes are kept for long, and each would keep a slab of 8 KB.
  const out = Buffer.allocUnsafeSlow(bytes.length + inserted.length + 1);
  bytes.copy(out, 0, 0, cut);
  out.write(inserted, cut, 'latin1');
  bytes.copy(out, cut + inserted.length, cut);
  out[out.length - 1] = NEW_LINE;
  return out;
}

const API_VERSION = /"apiVersion":"([^"\\]*)"/;

/** The version in which an object lies in the store: what comes before its metadata says so. */
export function storedVersionOf(bytes: Buffer): string {
  const head = bytes.toString('latin1', 0, Math.max(0, bytes.indexOf(OPEN)));
  return API_VERSION.exec(head)?.[1] ?? parseObject(bytes).apiVersion ?? '';
}

/** Without the end of the line, for what is itself part of a line. */
export function withinLine(bytes: Buffer): Buffer {
  return bytes[bytes.length - 1] === NEW_LINE ? bytes.subarray(0, -1) : bytes;
}

/** The object that those bytes mean. A fresh copy each time, so the caller may change it. */
export function parseObject<T = KubeObject>(bytes: Buffer): T {
  return JSON.parse(bytes.toString('utf8')) as T;
}
