// Results of plugins: every version of the specification in one typed form. Pure.
// Guarantees: reading and writing in the same version loses nothing that the version can say.
import { isObject, type JsonObject, type JsonValue, pathText } from './json.js';
import { type CniVersion, isAtLeast, isCniVersion } from './version.js';

interface CniInterface {
  readonly name: string;
  readonly mac?: string;
  /** The path of the namespace it is in; absent on the host. */
  readonly sandbox?: string;
  readonly mtu?: number;
  readonly socketPath?: string;
  readonly pciID?: string;
}

interface CniAddress {
  /** With the length of its prefix: 10.1.0.5/24. */
  readonly address: string;
  readonly gateway?: string;
  /** Index into `interfaces`. */
  readonly interface?: number;
}

interface CniRoute {
  readonly dst: string;
  readonly gw?: string;
  readonly mtu?: number;
  readonly advmss?: number;
  readonly priority?: number;
  readonly table?: number;
  readonly scope?: number;
}

interface CniDns {
  readonly nameservers?: readonly string[];
  readonly domain?: string;
  readonly search?: readonly string[];
  readonly options?: readonly string[];
}

export interface CniResult {
  /** The version in which the plugin spoke. */
  readonly cniVersion: CniVersion;
  readonly interfaces: readonly CniInterface[];
  readonly ips: readonly CniAddress[];
  readonly routes: readonly CniRoute[];
  readonly dns: CniDns;
}

/** Why a text is no result: for people, without a mention of the plugin. */
export class ResultError extends Error {}

/** Reads a result; one that does not tell its version speaks that of the configuration. */
export function parseResult(value: JsonValue, configured: CniVersion): CniResult {
  if (!isObject(value)) throw new ResultError('is not an object');
  const said = value['cniVersion'];
  const cniVersion = said === undefined || said === '' ? configured : said;
  if (!isCniVersion(cniVersion)) throw new ResultError(`cniVersion: ${JSON.stringify(said)} is not known`);
  const reader = new Reader();
  const dns = reader.dns(value['dns']);
  if (isAtLeast(cniVersion, '0.3.0')) {
    const interfaces = reader.list(value['interfaces'], ['interfaces'], (item) => reader.interface(item));
    const ips = reader.list(value['ips'], ['ips'], (item) => reader.address(item, 'address'));
    return { cniVersion, interfaces, ips, routes: reader.routes(value['routes'], ['routes']), dns };
  }
  const families = (['ip4', 'ip6'] as const).flatMap((key) => {
    const family = value[key];
    if (family === undefined || family === null) return [];
    if (!isObject(family)) throw new ResultError(`${key}: must be an object`);
    return [{ ip: reader.address(family, 'ip'), routes: reader.routes(family['routes'], [key, 'routes']) }];
  });
  return {
    cniVersion,
    interfaces: [],
    ips: families.map(({ ip }) => ip),
    routes: families.flatMap(({ routes }) => routes),
    dns,
  };
}

/** A result as plugins of that version understand it; what the version cannot say is left out. */
export function renderResult(result: CniResult, version: CniVersion): JsonObject {
  const { interfaces, ips, routes } = result;
  const dns = Object.keys(result.dns).length > 0 ? { dns: plain(result.dns) } : {};
  if (!isAtLeast(version, '0.3.0'))
    return { cniVersion: version, ...family('ip4', result, isV4), ...family('ip6', result, isV6), ...dns };
  const full = isAtLeast(version, '1.1.0');
  return {
    cniVersion: version,
    ...(interfaces.length > 0 && {
      interfaces: interfaces.map((item) => pick(item, full ? INTERFACE_11 : INTERFACE)),
    }),
    ...(ips.length > 0 && {
      ips: ips.map((ip) =>
        isAtLeast(version, '1.0.0') ? plain(ip) : { version: isV4(ip.address) ? '4' : '6', ...plain(ip) },
      ),
    }),
    ...(routes.length > 0 && { routes: routes.map((route) => pick(route, full ? ROUTE_11 : ROUTE)) }),
    ...dns,
  };
}

const INTERFACE = ['name', 'mac', 'sandbox'];
const INTERFACE_11 = [...INTERFACE, 'mtu', 'socketPath', 'pciID'];
const ROUTE = ['dst', 'gw'];
const ROUTE_11 = [...ROUTE, 'mtu', 'advmss', 'priority', 'table', 'scope'];

const isV6 = (address: string): boolean => address.includes(':');
const isV4 = (address: string): boolean => !isV6(address);

// Before 0.3.0 a result held one address of each family, with its routes.
function family(
  key: 'ip4' | 'ip6',
  { ips, routes }: CniResult,
  mine: (address: string) => boolean,
): JsonObject {
  const ip = ips.find(({ address }) => mine(address));
  if (ip === undefined) return {};
  const own = routes.filter(({ dst }) => mine(dst)).map((route) => pick(route, ROUTE));
  return {
    [key]: {
      ip: ip.address,
      ...(ip.gateway !== undefined && { gateway: ip.gateway }),
      ...(own.length > 0 && { routes: own }),
    },
  };
}

const plain = (value: object): JsonObject => ({ ...value }) as JsonObject;

const pick = (value: object, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => keys.includes(key))) as JsonObject;

type Path = readonly (string | number)[];

/** Reads the parts of a result and names the field that is wrong. */
class Reader {
  list<T>(value: JsonValue | undefined, path: Path, read: (item: JsonObject) => T): T[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new ResultError(`${pathText(path)}: must be a list`);
    return value.map((item, i) => {
      if (!isObject(item)) throw new ResultError(`${pathText([...path, i])}: must be an object`);
      return read(item);
    });
  }

  interface(item: JsonObject): CniInterface {
    const name = text(item, 'name');
    if (name === undefined) throw new ResultError('interfaces: one has no name');
    return { name, ...texts(item, ['mac', 'sandbox', 'socketPath', 'pciID']), ...numbers(item, ['mtu']) };
  }

  address(item: JsonObject, key: 'address' | 'ip'): CniAddress {
    const address = text(item, key);
    if (address === undefined || !/^[0-9a-fA-F.:]+\/\d+$/.test(address))
      throw new ResultError(
        `${key}: ${JSON.stringify(address ?? null)} is not an address with a prefix length`,
      );
    return { address, ...texts(item, ['gateway']), ...numbers(item, ['interface']) };
  }

  routes(value: JsonValue | undefined, path: Path): CniRoute[] {
    return this.list(value, path, (item) => {
      const dst = text(item, 'dst');
      if (dst === undefined) throw new ResultError(`${pathText(path)}: one has no dst`);
      return {
        dst,
        ...texts(item, ['gw']),
        ...numbers(item, ['mtu', 'advmss', 'priority', 'table', 'scope']),
      };
    });
  }

  dns(value: JsonValue | undefined): CniDns {
    if (value === undefined || value === null) return {};
    if (!isObject(value)) throw new ResultError('dns: must be an object');
    const lists = ['nameservers', 'search', 'options'].flatMap((key) => {
      const list = value[key] ?? [];
      if (!Array.isArray(list) || !list.every((item) => typeof item === 'string'))
        throw new ResultError(`dns.${key}: must be a list of texts`);
      return list.length > 0 ? [[key, list]] : [];
    });
    return { ...texts(value, ['domain']), ...(Object.fromEntries(lists) as CniDns) };
  }
}

// An empty text means the same as none: Go programs print the former.
function text(item: JsonObject, key: string): string | undefined {
  const value = item[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new ResultError(`${key}: must be a text`);
  return value;
}

function texts<K extends string>(item: JsonObject, keys: readonly K[]): { [P in K]?: string } {
  const found = keys.flatMap((key) => {
    const value = text(item, key);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(found) as { [P in K]?: string };
}

function numbers<K extends string>(item: JsonObject, keys: readonly K[]): { [P in K]?: number } {
  const found = keys.flatMap((key) => {
    const value = item[key];
    if (value === undefined || value === null) return [];
    if (typeof value !== 'number' || !Number.isInteger(value))
      throw new ResultError(`${key}: must be a whole number`);
    return [[key, value]];
  });
  return Object.fromEntries(found) as { [P in K]?: number };
}
