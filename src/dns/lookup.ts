// Answers questions about the cluster's own names, as Kubernetes' DNS specification 1.1 says. Pure.
// Guarantees: a name that exists without records of the type asked is answered empty, one that does not exist with
// NXDOMAIN; undefined means that the name is none of ours.
import { canonicalIp } from '../api/ip.js';
import {
  DNS_SERVICE,
  dashed,
  type Zone,
  type ZoneEndpoint,
  type ZonePort,
  type ZoneService,
} from './zone.js';

export type DnsRecord =
  | { readonly name: string; readonly type: 'A' | 'AAAA' | 'PTR' | 'CNAME' | 'NS'; readonly data: string }
  | { readonly name: string; readonly type: 'TXT'; readonly data: string }
  | {
      readonly name: string;
      readonly type: 'SRV';
      readonly data: { readonly target: string; readonly port: number };
    }
  | { readonly name: string; readonly type: 'SOA'; readonly data: StartOfAuthority };

interface StartOfAuthority {
  readonly mname: string;
  readonly rname: string;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
}

interface Lookup {
  readonly exists: boolean;
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** As CoreDNS: short, since pods come and go. */
export const TTL_S = 5;
const SPECIFICATION = '1.1.0';
const NOTHING: Lookup = { exists: false, answers: [], additionals: [] };
const EMPTY: Lookup = { exists: true, answers: [], additionals: [] };

/** `name` in lower case without the last dot; `type` as asked, of which only some have records here. */
export function lookUp(zone: Zone, name: string, type: string): Lookup | undefined {
  if (name.endsWith('.in-addr.arpa') || name.endsWith('.ip6.arpa')) return reverse(zone, name, type);
  if (name === zone.domain) return atApex(zone, type);
  if (!name.endsWith(`.${zone.domain}`)) return undefined;
  const labels = name
    .slice(0, -zone.domain.length - 1)
    .split('.')
    .reverse();
  const [kind = '', ...rest] = labels;
  if (kind === 'dns-version' && rest.length === 0)
    return type === 'TXT' ? found([{ name, type: 'TXT', data: SPECIFICATION }]) : EMPTY;
  if (kind === 'svc') return inServices(zone, name, type, rest);
  if (kind === 'pod') return inPods(zone, name, type, rest);
  // The older form, service.namespace.<domain>.
  return inServices(zone, name, type, labels);
}

export function startOfAuthority({ domain }: Zone): DnsRecord {
  const names = { mname: `ns.dns.${domain}`, rname: `hostmaster.${domain}` };
  const times = { refresh: 7200, retry: 1800, expire: 86400, minimum: TTL_S };
  return { name: domain, type: 'SOA', data: { ...names, serial: 1, ...times } };
}

function atApex(zone: Zone, type: string): Lookup {
  if (type === 'SOA') return found([startOfAuthority(zone)]);
  const server = zone.service({ service: DNS_SERVICE.name, namespace: DNS_SERVICE.namespace });
  if (type !== 'NS' || server === undefined) return EMPTY;
  const data = zone.nameOf(server);
  return found(
    [{ name: zone.domain, type: 'NS', data }],
    server.clusterIps.map((ip) => address(data, ip)),
  );
}

function found(answers: readonly DnsRecord[], additionals: readonly DnsRecord[] = []): Lookup {
  return { exists: true, answers, additionals };
}

/** `labels` from the right: namespace, service, then an endpoint or _protocol and _port. */
function inServices(zone: Zone, name: string, type: string, labels: readonly string[]): Lookup {
  const [namespace, service, first, second, ...more] = labels;
  if (namespace === undefined) return EMPTY;
  if (service === undefined) return zone.hasNamespace(namespace) ? EMPTY : NOTHING;
  const entry = zone.service({ service, namespace });
  if (entry === undefined || more.length > 0) return NOTHING;
  if (first === undefined) return ofService(zone, entry, name, type);
  if (second === undefined)
    return first.startsWith('_') ? ofProtocol(entry, first) : ofEndpoint(entry, name, type, first);
  return ofPort(zone, entry, name, type, { protocol: first, port: second });
}

function ofService(zone: Zone, entry: ZoneService, name: string, type: string): Lookup {
  if (entry.externalName !== undefined) return found([{ name, type: 'CNAME', data: entry.externalName }]);
  const ips = entry.clusterIps.length > 0 ? entry.clusterIps : entry.endpoints.map(({ ip }) => ip);
  if (type === 'SRV') return services(zone, entry, name, () => true);
  // A headless service without a ready endpoint has no addresses, but it is there.
  return found(addresses(name, type, ips));
}

function ofProtocol(entry: ZoneService, label: string): Lookup {
  return allPorts(entry).some(({ protocol }) => `_${protocol}` === label) ? EMPTY : NOTHING;
}

function ofEndpoint(entry: ZoneService, name: string, type: string, label: string): Lookup {
  const ips = entry.endpoints.filter((endpoint) => endpoint.label === label || dashed(endpoint.ip) === label);
  return ips.length === 0
    ? NOTHING
    : found(
        addresses(
          name,
          type,
          ips.map(({ ip }) => ip),
        ),
      );
}

function ofPort(
  zone: Zone,
  entry: ZoneService,
  name: string,
  type: string,
  asked: { protocol: string; port: string },
): Lookup {
  const isAsked = (port: ZonePort) =>
    `_${port.protocol}` === asked.protocol && `_${port.name.toLowerCase()}` === asked.port;
  if (!allPorts(entry).some(isAsked)) return NOTHING;
  return type === 'SRV' ? services(zone, entry, name, isAsked) : EMPTY;
}

/** Ports of the service, and of a headless one those of its endpoints. */
function allPorts({ ports, endpoints }: ZoneService): ZonePort[] {
  return [...ports, ...endpoints.flatMap((endpoint) => endpoint.ports)];
}

function services(
  zone: Zone,
  entry: ZoneService,
  name: string,
  isAsked: (port: ZonePort) => boolean,
): Lookup {
  const own = zone.nameOf(entry);
  const srv = (target: string, { port }: ZonePort): DnsRecord => ({
    name,
    type: 'SRV',
    data: { target, port },
  });
  if (entry.clusterIps.length > 0)
    return found(
      entry.ports.filter(isAsked).map((port) => srv(own, port)),
      entry.clusterIps.map((ip) => address(own, ip)),
    );
  const targets = entry.endpoints.filter(({ ports }) => ports.some(isAsked));
  const target = ({ label }: ZoneEndpoint) => `${label}.${own}`;
  // A pod of two families is an endpoint for each, with the same name and ports.
  const records = new Map(
    targets.flatMap((endpoint) =>
      endpoint.ports.filter(isAsked).map((port) => {
        const to = target(endpoint);
        return [`${to} ${port.port}`, srv(to, port)] as const;
      }),
    ),
  );
  return found(
    [...records.values()],
    targets.map((endpoint) => address(target(endpoint), endpoint.ip)),
  );
}

/** `10-244-0-2.namespace.pod`: the address is in the name, whoever may have it. */
function inPods(zone: Zone, name: string, type: string, labels: readonly string[]): Lookup {
  const [namespace, label, ...more] = labels;
  if (namespace === undefined) return EMPTY;
  if (label === undefined) return zone.hasNamespace(namespace) ? EMPTY : NOTHING;
  const ip = canonicalIp(label.replaceAll('-', '.')) ?? canonicalIp(label.replaceAll('-', ':'));
  if (ip === undefined || more.length > 0 || !zone.hasNamespace(namespace)) return NOTHING;
  return found(addresses(name, type, [ip]));
}

function reverse(zone: Zone, name: string, type: string): Lookup | undefined {
  const ip = addressOfArpa(name);
  const names = ip === undefined ? [] : zone.namesOf(ip);
  // Addresses that are not ours may have names elsewhere.
  if (names.length === 0) return undefined;
  return type === 'PTR' ? found(names.map((data) => ({ name, type: 'PTR', data }))) : EMPTY;
}

/** The address that a name below in-addr.arpa or ip6.arpa stands for, in canonical form. */
export function addressOfArpa(name: string): string | undefined {
  const labels = name.split('.').slice(0, -2).reverse();
  if (name.endsWith('.in-addr.arpa')) return labels.length === 4 ? canonicalIp(labels.join('.')) : undefined;
  if (labels.length !== 32) return undefined;
  return canonicalIp((labels.join('').match(/.{4}/g) ?? []).join(':'));
}

function addresses(name: string, type: string, ips: readonly string[]): DnsRecord[] {
  return [...new Set(ips)].map((ip) => address(name, ip)).filter((record) => record.type === type);
}

function address(name: string, ip: string): DnsRecord {
  return { name, type: ip.includes(':') ? 'AAAA' : 'A', data: ip };
}
