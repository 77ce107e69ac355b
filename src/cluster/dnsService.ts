// The Service by which pods reach the cluster's DNS: a fixed address in front of the name server of the node.
// Guarantees: may run at every start; it creates what is missing and corrects where the server is.

import { SERVICE_NAME_LABEL } from '../api/endpointSlice.js';
import type { V1EndpointSlice, V1Service } from '../api/gen/types.js';
import { ENDPOINT_SLICES, SERVICES } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Client } from '../client/client.js';

export interface DnsServiceOptions {
  readonly clusterIp: string;
  /** Where the server of the node listens. */
  readonly address: string;
  readonly port: number;
}

/** kube-dns: the name that tools and policies know it by. */
const META = { name: 'kube-dns', namespace: 'kube-system' };
const LABELS = {
  'k8s-app': 'kube-dns',
  'kubernetes.io/cluster-service': 'true',
  'kubernetes.io/name': 'TrellisDNS',
};
const PORTS = [
  { name: 'dns', protocol: 'UDP' },
  { name: 'dns-tcp', protocol: 'TCP' },
];

export async function ensureDnsService(client: Client, options: DnsServiceOptions): Promise<void> {
  // Looked for first: a second Service with that address would be refused for the address, not for its name.
  if (!(await isThere(client.of(SERVICES).get(META)))) await client.of(SERVICES).create(service(options));
  const slices = client.of(ENDPOINT_SLICES);
  const slice = endpoints(options);
  if (!(await isThere(slices.get(META)))) await slices.create(slice);
  else await slices.patch(META, 'merge', { endpoints: slice.endpoints, ports: slice.ports });
}

function service({ clusterIp }: DnsServiceOptions): V1Service {
  return {
    metadata: { ...META, labels: LABELS },
    spec: {
      clusterIP: clusterIp,
      clusterIPs: [clusterIp],
      ports: PORTS.map((port) => ({ ...port, port: 53 })),
    },
  };
}

function endpoints({ address, port }: DnsServiceOptions): V1EndpointSlice {
  return {
    metadata: { ...META, labels: { [SERVICE_NAME_LABEL]: META.name } },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: PORTS.map((entry) => ({ ...entry, port })),
  };
}

async function isThere(reading: Promise<unknown>): Promise<boolean> {
  try {
    await reading;
    return true;
  } catch (error) {
    if (ApiError.is(error, 'NotFound')) return false;
    throw error;
  }
}
