// Network configurations: a text in, a checked list of plugins out. Pure.
// Guarantees: what comes out can be run; what is refused is named by file, line, column and field.
import { Fields, readObject, refuse, type Source } from './fields.js';
import { canonical, type JsonObject, pathText } from './json.js';
import { CNI_VERSIONS, type CniVersion, isCniVersion, newest, OLDEST_VERSION } from './version.js';

export interface PluginConfig {
  /** The executable's name. */
  readonly type: string;
  /** The names of the runtime's settings that this plugin takes. */
  readonly capabilities: readonly string[];
  /** Everything the configuration says of it, as it stands. */
  readonly conf: JsonObject;
}

export interface NetworkList {
  readonly name: string;
  readonly cniVersion: CniVersion;
  readonly disableCheck: boolean;
  readonly disableGC: boolean;
  readonly loadOnlyInlinedPlugins: boolean;
  readonly plugins: readonly PluginConfig[];
  /** The list as text, the form in which the result cache keeps it. */
  readonly text: string;
  /** The file, or whatever else it came from. */
  readonly source: string;
}

/** Names of networks and containers, as the specification has them. */
export const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** A .conflist as far as its own text goes: it may still lack plugins that lie in a directory of their own. */
interface ListDraft {
  readonly list: NetworkList;
  readonly fields: Fields;
}

export function draftList(source: Source): ListDraft {
  const fields = new Fields(source, [], readObject(source));
  const name = networkName(fields);
  const cniVersion = listVersion(fields);
  const children = fields.children('plugins');
  if (children?.length === 0) throw fields.refuse('plugins', 'is empty; a network needs at least one plugin');
  const plugins = (children ?? []).map(plugin);
  refuseTwice(source, plugins);
  const list: NetworkList = {
    name,
    cniVersion,
    disableCheck: fields.flag('disableCheck'),
    disableGC: fields.flag('disableGC'),
    loadOnlyInlinedPlugins: fields.flag('loadOnlyInlinedPlugins'),
    plugins,
    text: source.text,
    source: source.name,
  };
  return { list, fields };
}

/** The whole list: with what the directory named after the network adds to it. */
export function finishList({ list, fields }: ListDraft, more: readonly PluginConfig[]): NetworkList {
  const plugins = [...list.plugins, ...more];
  if (plugins.length === 0) throw fields.refuse('plugins', `is missing${listHint(fields)}`);
  if (more.length === 0) return list;
  // The kept text must not depend on a directory that may have changed by the time of DEL.
  const whole = { ...fields.object, loadOnlyInlinedPlugins: true, plugins: plugins.map(({ conf }) => conf) };
  return { ...list, plugins, text: JSON.stringify(whole) };
}

/** Reads a .conflist that needs nothing else. */
export const parseList = (source: Source): NetworkList => finishList(draftList(source), []);

/** Reads a .conf or .json, one plugin alone, as a list of one. */
export function parseSingle(source: Source): NetworkList {
  const fields = new Fields(source, [], readObject(source));
  const only = plugin(fields);
  const name = networkName(fields);
  const cniVersion = listVersion(fields);
  return {
    name,
    cniVersion,
    disableCheck: false,
    disableGC: false,
    loadOnlyInlinedPlugins: true,
    plugins: [only],
    text: JSON.stringify({ cniVersion, name, plugins: [only.conf] }),
    source: source.name,
  };
}

/** Reads one plugin of a list, from a file of its own. */
export function parsePlugin(source: Source): PluginConfig {
  return plugin(new Fields(source, [], readObject(source)));
}

function networkName(fields: Fields): string {
  const name = fields.requiredText('name', '; every network needs a name');
  if (!NAME.test(name))
    throw fields.refuse(
      'name',
      `${JSON.stringify(name)} must begin with a letter or digit and go on with those, "_", "." or "-"`,
    );
  return name;
}

function listVersion(fields: Fields): CniVersion {
  const one = fields.text('cniVersion');
  const several = fields.texts('cniVersions');
  if (several === undefined) {
    if (one === undefined || one === '') return OLDEST_VERSION;
    if (isCniVersion(one)) return one;
    throw fields.refuse(
      'cniVersion',
      `${JSON.stringify(one)} is not known; known are ${CNI_VERSIONS.join(', ')}`,
    );
  }
  for (const [i, version] of several.entries())
    if (!/^\d+(\.\d+){0,2}$/.test(version))
      throw refuse(fields.source, ['cniVersions', i], `${JSON.stringify(version)} is not a version`);
  const chosen = newest(one === undefined ? several : [...several, one]);
  if (chosen !== undefined) return chosen;
  throw fields.refuse('cniVersions', `none of them is known; known are ${CNI_VERSIONS.join(', ')}`);
}

function plugin(fields: Fields): PluginConfig {
  const type = fields.requiredText('type', singleHint(fields));
  if (type.includes('/') || type === '.' || type === '..')
    throw fields.refuse('type', `${JSON.stringify(type)} must be the name of an executable, without a path`);
  fields.child('ipam')?.text('type');
  const dns = fields.child('dns');
  for (const key of ['nameservers', 'search', 'options']) dns?.texts(key);
  dns?.text('domain');
  const capabilities = fields.child('capabilities');
  const names = Object.keys(capabilities?.object ?? {}).filter((key) => {
    const value = capabilities?.object[key];
    if (typeof value === 'boolean') return value;
    throw refuse(fields.source, [...fields.path, 'capabilities', key], 'must be true or false');
  });
  return { type, capabilities: names, conf: fields.object };
}

// The second of two equal plugins would find the work of the first in its way.
function refuseTwice(source: Source, plugins: readonly PluginConfig[]): void {
  const texts = plugins.map(({ conf }) => canonical(conf));
  for (const [i, { type }] of plugins.entries()) {
    const first = texts.indexOf(texts[i] ?? '');
    if (first < i)
      throw refuse(
        source,
        ['plugins', i],
        `is the plugin ${type} of ${pathText(['plugins', first])} once more`,
      );
  }
}

const singleHint = (fields: Fields): string =>
  fields.has('plugins') ? '; a file with a list of plugins must be called .conflist' : '';
const listHint = (fields: Fields): string =>
  fields.has('type') ? '; a file with a single plugin must be called .conf or .json' : '';

/** A configuration kept in the result cache: libcni keeps lists and, of older runtimes, single plugins. */
export const parseEither = (source: Source): NetworkList =>
  Object.hasOwn(readObject(source), 'plugins') ? parseList(source) : parseSingle(source);
