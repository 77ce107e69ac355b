// The words that every `trellis cni` command shares, and what they make: a network, an attachment, a runner of plugins.
// Guarantees: the same defaults and environment variables as cnitool, so that one can take over from the other.
import { createHash } from 'node:crypto';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { type Attachment, DEFAULT_IF_NAME, parseArgs } from '../../cni/attachment.js';
import { DEFAULT_CACHE_DIR } from '../../cni/cache.js';
import { Cni, DEFAULT_BIN_DIR } from '../../cni/cni.js';
import { type NetworkList, parseEither } from '../../cni/config.js';
import { CniError } from '../../cni/error.js';
import { isObject, type JsonObject } from '../../cni/json.js';
import { DEFAULT_CONF_DIR, loadNetwork } from '../../cni/load.js';

export interface RunOptions {
  readonly confDir: string;
  readonly binDir: readonly string[];
  readonly cacheDir: string;
  readonly timeout: number;
  readonly hostNetns?: string;
}

export interface AttachOptions extends RunOptions {
  readonly ifname: string;
  readonly containerId?: string;
  readonly args?: [string, string][];
  readonly capabilityArgs?: JsonObject;
  readonly undo: boolean;
}

const list = (text: string, separator: string) => text.split(separator).filter((part) => part !== '');

export function withRunOptions(command: Command): Command {
  const { NETCONFPATH, CNI_PATH } = process.env;
  return command
    .option('--conf-dir <dir>', 'directory of network configurations', NETCONFPATH || DEFAULT_CONF_DIR)
    .option(
      '--bin-dir <dirs>',
      'directories of plugins, separated by commas',
      (text) => list(text, ','),
      CNI_PATH ? list(CNI_PATH, ':') : [DEFAULT_BIN_DIR],
    )
    .option('--cache-dir <dir>', 'directory of cached results', DEFAULT_CACHE_DIR)
    .option('--timeout <seconds>', 'time limit for each plugin', seconds, 60)
    .option('--host-netns <path>', "run plugins in this network namespace instead of the host's");
}

export function withAttachOptions(command: Command): Command {
  return withRunOptions(command)
    .option('--ifname <name>', 'the interface in the container', process.env['CNI_IFNAME'] || DEFAULT_IF_NAME)
    .option(
      '--container-id <id>',
      'id of the container (default: derived from the namespace, as cnitool does)',
    )
    .option('--args <K=V;...>', 'arguments for the plugins', readArgs)
    .option(
      '--capability-args <json>',
      'runtime settings by capability: \'{"portMappings": [...]}\'',
      readObject,
    );
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

function readArgs(text: string): [string, string][] {
  try {
    return parseArgs(text);
  } catch (error) {
    if (error instanceof CniError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

function readObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON: ${String(error)}.`);
  }
  throw new InvalidArgumentError('It must be a JSON object.');
}

export function cniFor(options: RunOptions, { undoFailedAdd = false } = {}): Cni {
  const { binDir, cacheDir, timeout, hostNetns } = options;
  return new Cni({
    binDirs: binDir.map((dir) => path.resolve(dir)),
    cacheDir: path.resolve(cacheDir),
    timeoutMs: timeout * 1000,
    undoFailedAdd,
    ...(hostNetns !== undefined && { hostNetNs: path.resolve(hostNetns) }),
  });
}

export function attachmentFor(netns: string, options: AttachOptions): Attachment {
  const { ifname, containerId, args, capabilityArgs } = options;
  const absolute = netns === '' ? '' : path.resolve(netns);
  return {
    containerId: containerId ?? cnitoolId(absolute),
    netns: absolute,
    ifName: ifname,
    ...(args && { args }),
    ...(capabilityArgs && { capabilityArgs }),
  };
}

/** The container ID that cnitool gives to a namespace. */
const cnitoolId = (netns: string): string =>
  `cnitool-${createHash('sha512').update(netns).digest('hex').slice(0, 20)}`;

/** The network by its name; one whose file is gone, as it was when the attachment was added. */
export async function networkFor(
  name: string,
  options: RunOptions,
  added?: { cni: Cni; attachment: Attachment },
): Promise<NetworkList> {
  try {
    return await loadNetwork(name, options.confDir);
  } catch (error) {
    if (!(error instanceof CniError) || error.code !== 'NETWORK_NOT_FOUND' || added === undefined)
      throw error;
    const entry = await added.cni.cache.get(name, added.attachment);
    if (entry === undefined || entry.config === '') throw error;
    return parseEither({ name: added.cni.cache.file(name, added.attachment), text: entry.config });
  }
}
