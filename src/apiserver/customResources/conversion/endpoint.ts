// Where a webhook listens: its URL, or a ready endpoint of its service. Pure but for the choice among endpoints.
// Guarantees: a service is looked up for every call, so a pod that went is not called again; its name in TLS is the
// service's, whatever address is called.
import { randomInt } from 'node:crypto';
import type { V1Service, V1WebhookConversion } from '../../../api/gen/types.js';
import type { KindDefinition } from '../../../api/kind.js';
import { SERVICES } from '../../../api/resources.js';
import { isType } from '../../discovery/resources.js';
import type { Feed } from '../../registry/feed.js';
import { objectKey } from '../../registry/keys.js';
import { readyAddresses } from '../../subresources/proxy.js';
import { ConversionError } from './error.js';

type ClientConfig = NonNullable<V1WebhookConversion['clientConfig']>;

export interface Endpoint {
  /** As messages name it. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Of the certificate; that of the host unless given. */
  readonly servername?: string;
  /** Of the request. */
  readonly authority: string;
}

/** What endpoints are looked up in. */
export interface Cluster {
  readonly feed: Feed;
  readonly kinds: readonly KindDefinition[];
}

/** As Kubernetes' client tells the other side how long it waits. */
const TIMEOUT = '?timeout=30s';
const HTTPS_PORT = 443;

export function endpointOf(cluster: Cluster, { url: given = '', service }: ClientConfig): Endpoint {
  if (service === undefined) return ofUrl(given);
  const { name, namespace, port = HTTPS_PORT, path = '' } = service;
  const servername = `${name}.${namespace}.svc`;
  const authority = `${servername}:${port}`;
  const below = `${path.startsWith('/') ? '' : '/'}${path}${TIMEOUT}`;
  const url = `https://${authority}${below}`;
  const { host, port: target } = addressOf(cluster, { name, namespace, port, url });
  return { url, host, port: target, path: below, servername, authority };
}

function ofUrl(text: string): Endpoint {
  const url = new URL(text);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const path = `${url.pathname}${TIMEOUT}`;
  const port = url.port === '' ? HTTPS_PORT : Number(url.port);
  return { url: `https://${url.host}${path}`, host, port, path, authority: url.host };
}

interface ServicePort {
  readonly name: string;
  readonly namespace: string;
  readonly port: number;
  readonly url: string;
}

/** As stock servers that route to endpoints: this server may run where no proxy serves cluster addresses. */
function addressOf(cluster: Cluster, { name, namespace, port, url }: ServicePort) {
  const { feed, kinds } = cluster;
  const failure = (why: string) => new ConversionError('CALL', `Post ${JSON.stringify(url)}: ${why}`);
  const kind = kinds.find(({ type }) => isType(type, SERVICES));
  const held = kind && feed.cacheOf(kind).get(objectKey(kind.type, namespace, name));
  if (held === undefined) throw failure(`service "${name}" not found`);
  const service = held.parse<V1Service>();
  const { type, externalName = '', ports = [] } = service.spec ?? {};
  if (type === 'ExternalName') return { host: externalName, port };
  const chosen = ports.find((one) => one.port === port);
  if (chosen === undefined) throw failure(`no service port ${port} found for service "${name}"`);
  const found = readyAddresses(cluster, service, chosen.name ?? '');
  const one = found[found.length === 0 ? 0 : randomInt(found.length)];
  if (one === undefined) throw failure(`no endpoints available for service "${name}"`);
  return one;
}
