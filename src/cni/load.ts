// Finds network configurations in a directory, as libcni does.
// Guarantees: the order is that of the names; a broken file never hides another network, and is never passed over in silence.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../base/errorMessage.js';
import {
  draftList,
  finishList,
  type NetworkList,
  type PluginConfig,
  parsePlugin,
  parseSingle,
} from './config.js';
import { CniError } from './error.js';

export const DEFAULT_CONF_DIR = '/etc/cni/net.d';

interface LoadedNetworks {
  /** In the order of their files' names. */
  readonly networks: readonly NetworkList[];
  /** One for each file that cannot be used. */
  readonly problems: readonly CniError[];
}

/** Every network of the directory; one that does not exist holds none. */
export async function loadNetworks(dir = DEFAULT_CONF_DIR): Promise<LoadedNetworks> {
  const networks: NetworkList[] = [];
  const problems: CniError[] = [];
  for (const file of await filesIn(dir, ['.conf', '.conflist', '.json'])) {
    try {
      networks.push(await loadFile(path.join(dir, file)));
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      problems.push(error);
    }
  }
  return { networks, problems };
}

/** The network of this name; of two, a .conflist goes before a single plugin, then the first by file name. */
export async function loadNetwork(name: string, dir = DEFAULT_CONF_DIR): Promise<NetworkList> {
  const { networks, problems } = await loadNetworks(dir);
  const named = networks.filter((network) => network.name === name);
  const found = named.find(({ source }) => source.endsWith('.conflist')) ?? named[0];
  if (found !== undefined) return found;
  throw notFound(`no network is called ${name} in ${dir}`, problems, networks);
}

/** One file, by its ending: .conflist is a list, .conf and .json are single plugins. */
export async function loadFile(file: string): Promise<NetworkList> {
  const source = { name: file, text: await read(file) };
  if (!file.endsWith('.conflist')) return parseSingle(source);
  const draft = draftList(source);
  const { name, loadOnlyInlinedPlugins } = draft.list;
  return finishList(
    draft,
    loadOnlyInlinedPlugins ? [] : await pluginsIn(path.join(path.dirname(file), name)),
  );
}

async function pluginsIn(dir: string): Promise<PluginConfig[]> {
  const files = (await filesIn(dir, ['.conf'])).map((file) => path.join(dir, file));
  return Promise.all(files.map(async (name) => parsePlugin({ name, text: await read(name) })));
}

async function filesIn(dir: string, endings: readonly string[]): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && endings.includes(path.extname(entry.name)))
      .map((entry) => entry.name)
      .sort();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new CniError('CONFIG_INVALID', `${dir}: cannot be read: ${messageOf(cause)}`, { cause });
  }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CniError('CONFIG_INVALID', `${file}: cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function notFound(what: string, problems: readonly CniError[], networks: readonly NetworkList[]): CniError {
  const names = [...new Set(networks.map(({ name }) => name))];
  const there = names.length > 0 ? `; there are ${names.join(', ')}` : '';
  const broken = problems.map(({ message }) => `\n  cannot be used: ${message}`).join('');
  return new CniError('NETWORK_NOT_FOUND', `${what}${there}${broken}`, { errors: problems });
}
