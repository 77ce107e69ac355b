// The network state of a namespace as `ip` tells it, with what is random or a clock taken out.
// Guarantees: two namespaces that were set up alike read the same; hardware addresses are named by their interface.
import type { TestNetNs } from '../netns.js';

type Json = Record<string, unknown>;
interface Link extends Json {
  readonly ifname: string;
  readonly address?: string;
}

/** What runs on (timers), counts up (indices) or follows later by itself (the state of address detection). */
const PASSING =
  /^(ifindex|link_index|link_netnsid|.*_timer|bridge_id|root_id|tentative|designated_.*|root_port|topology_.*)$/;
/** Hardware addresses that a test asks for; they must stay to be seen. */
const REQUESTED_MAC = '02:aa:bb:';
const VETH = /^veth[0-9a-f]{8}$/;
const SYSCTLS = [
  'ipv4/ip_forward',
  'ipv6/conf/all/forwarding',
  'ipv4/conf/*/route_localnet',
  'ipv4/conf/*/arp_notify',
  'ipv6/conf/*/disable_ipv6',
  'ipv6/conf/*/accept_ra',
];

export interface State {
  readonly links: Json[];
  readonly routes: Json[];
  readonly neighbours: Json[];
  readonly sysctls: string[];
}

/** Random names and addresses of a namespace's interfaces, each with the word that stands for it. */
export type Names = ReadonlyMap<string, string>;

/** What `ip` and the sysctls say of a namespace, as they say it. */
interface Raw {
  readonly links: Link[];
  readonly routes: Json[];
  readonly neighbours: Json[];
  readonly sysctls: string[];
}

/** Reads everything in one go: a state is looked at often. */
export async function readState(namespace: TestNetNs): Promise<Raw> {
  const ip = ['addr', 'route show table all', 'neigh show nud permanent'].map(
    (what) => `ip -j -d ${what}; echo;`,
  );
  const grep = `grep -H '' ${SYSCTLS.map((key) => `/proc/sys/net/${key}`).join(' ')}`;
  const lines = (await namespace.run('sh', '-c', `${ip.join(' ')} ${grep}`))
    .split('\n')
    .filter((line) => line !== '');
  const json = lines.filter((line) => line.startsWith('['));
  const [links = [], routes = [], neighbours = []] = json.map((line) => JSON.parse(line) as Link[]);
  return { links, routes, neighbours, sysctls: lines.filter((line) => line.startsWith('/proc')) };
}

/** Names what is random in the namespaces of one host: `where` tells the host's interfaces from a container's. */
export function namesOf(namespaces: ReadonlyMap<string, Raw>): Names {
  const names = new Map<string, string>();
  for (const [where, { links }] of namespaces) {
    let veths = 0;
    for (const link of links) {
      const name = VETH.test(link.ifname) ? `veth#${++veths}` : link.ifname;
      if (name !== link.ifname) names.set(link.ifname, name);
      if (isRandom(link.address)) names.set(link.address, `mac of ${name} in ${where}`);
    }
  }
  return names;
}

const isRandom = (mac: string | undefined): mac is string =>
  mac !== undefined && mac !== '00:00:00:00:00:00' && !mac.startsWith(REQUESTED_MAC);

/** Puts the words of `names` in the place of what they stand for, everywhere in a value. */
export function rename<T>(value: T, names: Names): T {
  let text = JSON.stringify(value);
  for (const [from, to] of names) text = text.replaceAll(from, to);
  return JSON.parse(text.replace(/fe80::[0-9a-f:]+(?![0-9a-f:/])/g, 'link-local')) as T;
}

export function stateOf(raw: Raw, names: Names): State {
  const plain = (items: Json[]) => ordered(rename(withoutPassing(items), names));
  return {
    links: plain(raw.links),
    routes: plain(raw.routes),
    neighbours: plain(raw.neighbours),
    sysctls: ordered(rename(raw.sysctls, names)),
  };
}

function withoutPassing<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (PASSING.test(key) ? undefined : inner)),
  ) as T;
}

const ordered = <T>(items: readonly T[]): T[] =>
  [...items].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
