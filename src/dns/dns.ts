// Cluster DNS on a node: the zone follows Services, EndpointSlices and Namespaces, the server answers from it.
// Guarantees: it answers once the first complete view is there; a change of one service touches only its names. Nodes are
// served too: what a pod asks the server of another node arrives under its own node's address.
import { serviceKeyOf } from '../api/endpointSlice.js';
import type { V1EndpointSlice, V1Service } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import { keyOf, nameOfKey, type Stored } from '../api/object.js';
import { ENDPOINT_SLICES, NAMESPACES, NODES, SERVICES } from '../api/resources.js';
import type { Informers } from '../client/informer.js';
import { makeForwarder } from './forward.js';
import { ownAddresses } from './ownAddresses.js';
import { type DnsServer, openDnsServer } from './server.js';
import { Zone, zoneService } from './zone.js';

interface DnsOptions {
  readonly informers: Informers;
  readonly domain: string;
  readonly address: string;
  readonly port: number;
  readonly serves: readonly string[];
  /** Asked about all other names. */
  readonly upstreams: readonly string[];
  readonly log: Log;
}

const BY_SERVICE = 'service';
const BY_ADDRESS = 'address';

export async function runDns(options: DnsOptions): Promise<DnsServer> {
  const { informers, domain, log } = options;
  const zone = new Zone(domain.toLowerCase());
  const stop = follow(informers, zone);
  await Promise.all([informers.of(SERVICES).synced(), informers.of(ENDPOINT_SLICES).synced()]);
  const forwarder = makeForwarder({ servers: options.upstreams, log });
  const nodes = informers.of(NODES);
  nodes.index(BY_ADDRESS, ({ status }) => (status?.addresses ?? []).map(({ address }) => address));
  // A pod of the host's network asks from the device of its route, whose address need not be the node's.
  const isOwn = ownAddresses();
  const alsoServes = (address: string) => nodes.byIndex(BY_ADDRESS, address).length > 0 || isOwn(address);
  const server = await openDnsServer({ ...options, alsoServes, zone, forwarder });
  return {
    port: server.port,
    close: async () => {
      stop();
      await server.close();
    },
  };
}

function follow(informers: Informers, zone: Zone): () => void {
  const services = informers.of(SERVICES);
  const slices = informers.of(ENDPOINT_SLICES);
  slices.index(BY_SERVICE, (slice) => [serviceKeyOf(slice)]);
  const refresh = (key: string) => {
    const service = services.get(key);
    const { name, namespace = '' } = nameOfKey(key);
    if (service === undefined) zone.delete({ service: name, namespace });
    else zone.set(zoneService(service, slices.byIndex(BY_SERVICE, key)));
  };
  const onService = ({ metadata }: Stored<V1Service>) => refresh(keyOf(metadata));
  const onSlice = (slice: Stored<V1EndpointSlice>) => refresh(serviceKeyOf(slice));
  // Not waited for: a namespace with services is known by those.
  const stops = [
    informers.of(NAMESPACES).on({
      added: ({ metadata }) => zone.addNamespace(metadata.name),
      deleted: ({ metadata }) => zone.removeNamespace(metadata.name),
    }),
    services.on({ added: onService, updated: onService, deleted: onService }),
    slices.on({ added: onSlice, updated: onSlice, deleted: onSlice }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
