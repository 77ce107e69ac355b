// What the files of a configMap, secret, downwardAPI or projected volume hold, before any is written. Pure.
// Guarantees: no path leaves the volume or meets the names the writer uses itself; later sources win a path.
import type { V1KeyToPath } from '../../api/gen/types.js';
import { KubeletError } from '../error.js';

export interface PayloadFile {
  readonly data: Uint8Array;
  /** Permission bits only. */
  readonly mode: number;
  /** Who owns the file; root if left out. */
  readonly uid?: number;
}

/** Files by their path inside the volume. */
export type Payload = ReadonlyMap<string, PayloadFile>;

const MAX_PATH = 4096;

/** Refuses absolute paths, `..` elements and a first element that starts with two dots. Answers the path in short form. */
export function checkedPath(path: string): string {
  const refuse = (why: string) => {
    throw new KubeletError('FailedMount', `invalid path: ${why}: ${JSON.stringify(path.slice(0, 200))}`);
  };
  const elements = path.split('/').filter((element) => element !== '' && element !== '.');
  if (elements.length === 0 || path.includes('\0')) refuse('must not be empty or hold a zero byte');
  if (path.startsWith('/')) refuse('must be relative path');
  if (path.length > MAX_PATH || elements.some((element) => Buffer.byteLength(element) > 255))
    refuse('must be at most 4096 characters, 255 bytes an element');
  if (elements.includes('..')) refuse("must not contain '..'");
  if (elements[0]?.startsWith('..')) refuse("must not start with '..'");
  return elements.join('/');
}

/** The files of one configMap or secret: every key, or the listed ones at their paths. */
export function selectKeys(options: {
  readonly data: ReadonlyMap<string, Uint8Array>;
  readonly items: readonly V1KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
  /** The sentence for a listed key that is not there. */
  readonly missingKey: (key: string) => string;
}): Map<string, PayloadFile> {
  const { data, items, defaultMode, optional, missingKey } = options;
  const files = new Map<string, PayloadFile>();
  if (items === undefined || items.length === 0) {
    for (const [key, bytes] of data) files.set(checkedPath(key), { data: bytes, mode: defaultMode });
    return files;
  }
  for (const { key, path, mode } of items) {
    const bytes = data.get(key);
    if (bytes !== undefined) files.set(checkedPath(path), { data: bytes, mode: mode ?? defaultMode });
    else if (!optional) throw new KubeletError('FailedMount', missingKey(key));
  }
  return files;
}

/** A path that is a file in one source and a directory in another cannot be written; say so before trying. */
export function checkPayload(payload: Payload): void {
  for (const path of payload.keys()) {
    const elements = path.split('/');
    for (let length = 1; length < elements.length; length++) {
      const parent = elements.slice(0, length).join('/');
      if (payload.has(parent))
        throw new KubeletError('FailedMount', `conflicting paths in volume: ${parent} and ${path}`);
    }
  }
}
