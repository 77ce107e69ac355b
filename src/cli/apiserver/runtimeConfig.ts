// --runtime-config: which groups, versions and resources of the API are served. Pure.
// Guarantees: resources go over versions, versions over api/..., as in Kubernetes; what is not there to be switched is refused
// by name. What is switched off stays stored, and the server's own parts go on reading it.
import type { GroupVersionResource } from '../../api/resources.js';
import { ClusterError } from '../../cluster/error.js';

type IsServed = (place: GroupVersionResource) => boolean;

/** Many at once, in the order in which they are heeded. */
const MANY: readonly (readonly [key: string, versions: RegExp])[] = [
  ['api/all', /^/],
  ['api/ga', /^v\d+$/],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
];

export function readRuntimeConfig(text: string, known: readonly GroupVersionResource[]): IsServed {
  const switches = switchesOf(text);
  for (const key of switches.keys()) checkKey(key, known);
  for (const [key, versions] of MANY.slice(1))
    if (switches.get(key) === true && !known.some(({ version }) => versions.test(version)))
      throw refused(`${key}=true: no such version is served here; name the versions that you need`);
  const many = MANY.filter(([key]) => switches.has(key)).reverse();
  return (place) => {
    if (!known.some((one) => isSame(one, place))) return true;
    const { group, version, resource } = place;
    const said = switches.get(`${group}/${version}/${resource}`) ?? switches.get(`${group}/${version}`);
    if (said !== undefined) return said;
    const [key] = many.find(([, versions]) => versions.test(version)) ?? [];
    return key === undefined ? true : switches.get(key) !== false;
  };
}

const isSame = (one: GroupVersionResource, other: GroupVersionResource): boolean =>
  one.group === other.group && one.version === other.version && one.resource === other.resource;

/** `v1` and `api/v1` are the core group's. A key alone is true. */
function switchesOf(text: string): ReadonlyMap<string, boolean> {
  const pairs = text.split(',').flatMap((part) => {
    const [key = '', value = 'true'] = part.trim().split('=', 2);
    if (key === '' || key === 'api/legacy') return [];
    if (!/^(true|false|t|f|1|0)$/i.test(value))
      throw refused(`${key}: ${JSON.stringify(value)} is neither true nor false`);
    return [[key.replace(/^(api\/)?v1(?=$|\/)/, '/v1'), /^(true|t|1)$/i.test(value)] as const];
  });
  return new Map(pairs);
}

function checkKey(key: string, known: readonly GroupVersionResource[]): void {
  if (MANY.some(([many]) => many === key)) return;
  const [group, version, resource, ...rest] = key.split('/');
  const found = known.filter((one) => one.group === group && one.version === version);
  const isKnown = resource === undefined ? found.length > 0 : found.some((one) => one.resource === resource);
  if (rest.length === 0 && isKnown) return;
  const versions = new Set(
    known.map((one) => (one.group === '' ? one.version : `${one.group}/${one.version}`)),
  );
  throw refused(
    `${key.replace(/^\//, '')} is not served here; there are ${[...versions].join(', ')}` +
      (found.length === 0
        ? ''
        : `, and in this one ${[...new Set(found.map((one) => one.resource))].join(', ')}`),
  );
}

const refused = (why: string) => new ClusterError('BAD_OPTION', `--runtime-config: ${why}`);
