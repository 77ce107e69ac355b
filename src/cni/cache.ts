// The result cache: one file an attachment, in libcni's own format, so that either can take over from the other.
// Guarantees: a file is whole or not there; only root can read it; what is not in the format is never taken for an attachment.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../base/errorMessage.js';
import { type Attachment, ifNameOf } from './attachment.js';
import type { NetworkList } from './config.js';
import { CniError } from './error.js';
import { isObject, type JsonObject, type JsonValue } from './json.js';
import { type CniResult, parseResult, ResultError, renderResult } from './result.js';
import type { CniVersion } from './version.js';

export const DEFAULT_CACHE_DIR = '/var/lib/cni';

const KIND = 'cniCacheV1';

/** An attachment as it was added. */
export interface CachedAttachment extends Attachment {
  readonly network: string;
  readonly ifName: string;
  /** The configuration it was added with. */
  readonly config: string;
  readonly result: JsonObject | undefined;
}

let written = 0;

export class ResultCache {
  constructor(readonly dir: string = DEFAULT_CACHE_DIR) {}

  /** Where libcni looks for it too. */
  file(network: string, attachment: Attachment): string {
    return path.join(this.dir, 'results', `${network}-${attachment.containerId}-${ifNameOf(attachment)}`);
  }

  async put(list: NetworkList, attachment: Attachment, result: CniResult): Promise<void> {
    const { containerId, netns, args, capabilityArgs } = attachment;
    // The order and the omissions of libcni.
    const entry = {
      kind: KIND,
      containerId,
      config: Buffer.from(list.text).toString('base64'),
      ifName: ifNameOf(attachment),
      networkName: list.name,
      ...(netns && { netns }),
      ...(args !== undefined && args.length > 0 && { cniArgs: args }),
      ...(capabilityArgs !== undefined && Object.keys(capabilityArgs).length > 0 && { capabilityArgs }),
      result: renderResult(result, list.cniVersion),
    };
    const file = this.file(list.name, attachment);
    const other = await this.#otherOwner(list.name, attachment);
    if (other !== undefined) {
      const owner = `container ${other.containerId} on network ${other.network}`;
      throw new CniError('CACHE_FAILED', `${file} is the result of ${owner}; give one of them another name`);
    }
    // Not beside the results: libcni takes every file there for an attachment.
    const fresh = path.join(this.dir, `.result-${process.pid}-${++written}`);
    try {
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      try {
        await writeFile(fresh, JSON.stringify(entry), { mode: 0o600, flag: 'wx' });
        await rename(fresh, file);
      } catch (error) {
        await rm(fresh, { force: true });
        throw error;
      }
    } catch (cause) {
      throw new CniError('CACHE_FAILED', `the result could not be kept in ${file}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** What was kept of the attachment, or undefined: never added, removed, or not readable as an entry. */
  async get(network: string, attachment: Attachment): Promise<CachedAttachment | undefined> {
    const text = await read(this.file(network, attachment));
    if (text === undefined) return undefined;
    const entry = parseEntry(text) ?? parseOldEntry(text, network, attachment);
    return entry !== undefined && isOf(entry, network, attachment) ? entry : undefined;
  }

  /** Not there is fine. */
  async remove(network: string, attachment: Attachment): Promise<void> {
    const file = this.file(network, attachment);
    if ((await this.#otherOwner(network, attachment)) !== undefined) return;
    await rm(file, { force: true }).catch((cause: unknown) => {
      throw new CniError('CACHE_FAILED', `${file} could not be removed: ${messageOf(cause)}`, { cause });
    });
  }

  // Network a-b with container c and network a with container b-c have one file name: libcni mixes them up.
  async #otherOwner(network: string, attachment: Attachment): Promise<CachedAttachment | undefined> {
    const entry = parseEntry((await read(this.file(network, attachment))) ?? '');
    return entry === undefined || isOf(entry, network, attachment) ? undefined : entry;
  }

  /** All attachments in the order of their files' names; files of other formats are passed over, as libcni does. */
  async list(): Promise<CachedAttachment[]> {
    const results = path.join(this.dir, 'results');
    const names = await readdir(results).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return [];
      throw new CniError('CACHE_FAILED', `${results} could not be read: ${messageOf(cause)}`, { cause });
    });
    const texts = await Promise.all(names.sort().map((name) => read(path.join(results, name))));
    return texts.flatMap((text) => (text === undefined ? [] : (parseEntry(text) ?? [])));
  }
}

const isOf = (entry: CachedAttachment, network: string, attachment: Attachment): boolean =>
  entry.network === network &&
  entry.containerId === attachment.containerId &&
  entry.ifName === ifNameOf(attachment);

/** The kept result, or undefined where there is none that makes sense. */
export function cachedResult(
  entry: CachedAttachment | undefined,
  version: CniVersion,
): CniResult | undefined {
  if (entry?.result === undefined) return undefined;
  try {
    return parseResult(entry.result, version);
  } catch (error) {
    if (error instanceof ResultError) return undefined; // a DEL must still be possible
    throw error;
  }
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EISDIR') return undefined;
    throw new CniError('CACHE_FAILED', `${file} could not be read: ${messageOf(cause)}`, { cause });
  }
}

function parseEntry(text: string): CachedAttachment | undefined {
  const value = objectIn(text);
  if (value === undefined || value['kind'] !== KIND) return undefined;
  const { containerId, networkName, ifName, config, netns, cniArgs, capabilityArgs, result } = value;
  if (!isText(containerId) || !isText(networkName) || !isText(ifName)) return undefined;
  return {
    containerId,
    network: networkName,
    ifName,
    config: isText(config) ? Buffer.from(config, 'base64').toString('utf8') : '',
    ...(isText(netns) && { netns }),
    ...(Array.isArray(cniArgs) && { args: cniArgs.filter(isPair) }),
    ...(isObject(capabilityArgs) && { capabilityArgs }),
    result: isObject(result) ? result : undefined,
  };
}

/** Before it had a format, libcni kept the bare result. */
function parseOldEntry(text: string, network: string, attachment: Attachment): CachedAttachment | undefined {
  const result = objectIn(text);
  if (result === undefined || !isText(result['cniVersion'])) return undefined;
  return { containerId: attachment.containerId, network, ifName: ifNameOf(attachment), config: '', result };
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // torn by a crash of another runtime, which does not write atomically
  }
}

const isText = (value: JsonValue | undefined): value is string => typeof value === 'string' && value !== '';

const isPair = (value: JsonValue): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
