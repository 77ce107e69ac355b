// Keeps the endpoints of the cluster's DNS Service: the name servers of the nodes that have one, a slice a node.
// Guarantees: pods ask the server of their own node as long as it is there, any other otherwise; a node that is gone, or
// has not been heard of, is asked no more.
import { dnsPortOf } from '../api/dnsPort.js';
import { SERVICE_NAME_LABEL } from '../api/endpointSlice.js';
import type { V1EndpointSlice, V1Node } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import { sameJson } from '../api/ownKeys.js';
import { ENDPOINT_SLICES, NODES } from '../api/resources.js';
import { type Controller, newQueue, runLoop } from './controller.js';
import { MANAGED_BY } from './endpointSlice/plan.js';

const NAME = 'dns-endpoints-controller';
const MANAGER = 'dns-endpoints-controller.trellis';
const PORTS = [
  { name: 'dns', protocol: 'UDP' },
  { name: 'dns-tcp', protocol: 'TCP' },
];

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

export function dnsEndpointsController(service: NamespacedName): Controller {
  const { namespace } = service;
  const nameFor = (node: string) => `${service.name}-${node}`;
  return {
    name: NAME,
    run(context) {
      const { client, informers } = context;
      const nodes = informers.of(NODES);
      const slices = informers.of(ENDPOINT_SLICES, { namespace, labelSelector: `${MANAGED_BY}=${MANAGER}` });
      const queue = newQueue(context);
      const wake = ({ metadata }: Stored<V1Node>) => queue.add(metadata.name);
      const wakeOf = ({ metadata }: Stored<V1EndpointSlice>) =>
        queue.add(metadata.name.slice(service.name.length + 1));
      nodes.on({
        added: wake,
        deleted: wake,
        updated: (node, before) => {
          if (!sameJson(endpointOf(node), endpointOf(before))) wake(node);
        },
      });
      // Also tells of slices whose node went while nobody looked.
      slices.on({ added: wakeOf, updated: wakeOf, deleted: wakeOf });
      return runLoop(context, NAME, {
        queue,
        reconcile: async (node) => {
          const name = nameFor(node);
          const found = nodes.get(node);
          const wanted = found === undefined ? undefined : sliceOf(found, { ...service, name }, service.name);
          const present = slices.get(`${namespace}/${name}`);
          const resource = client.of(ENDPOINT_SLICES);
          if (wanted === undefined) {
            if (present !== undefined) await resource.delete({ namespace, name });
          } else if (present === undefined) await resource.create(wanted);
          else if (!sameJson([present.endpoints, present.ports], [wanted.endpoints, wanted.ports]))
            await resource.update({ ...present, endpoints: wanted.endpoints, ports: wanted.ports });
          return undefined;
        },
      });
    },
  };
}

/** Nothing for a node without a name server. Pure. */
export function sliceOf(
  node: Stored<V1Node>,
  metadata: NamespacedName,
  serviceName: string,
): V1EndpointSlice | undefined {
  const endpoint = endpointOf(node);
  if (endpoint === undefined) return undefined;
  const { name, address, port, isHeardOf } = endpoint;
  return {
    metadata: { ...metadata, labels: { [SERVICE_NAME_LABEL]: serviceName, [MANAGED_BY]: MANAGER } },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [
      {
        addresses: [address],
        conditions: { ready: isHeardOf },
        nodeName: name,
        hints: { forNodes: [{ name }] },
      },
    ],
    ports: PORTS.map((entry) => ({ ...entry, port })),
  };
}

function endpointOf(node: Stored<V1Node>) {
  const port = dnsPortOf(node);
  const address = node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  if (port === undefined || address === undefined) return undefined;
  const isHeardOf = !(node.status?.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'Unknown',
  );
  return { name: node.metadata.name, address, port, isHeardOf };
}
