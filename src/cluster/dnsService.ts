// The Service by which pods reach the cluster's DNS: a fixed address in front of the name servers of the nodes.
// Guarantees: may run at every start; it creates what is missing. A controller keeps the endpoints.
import type { V1Service } from '../api/gen/types.js';
import { ENDPOINT_SLICES, SERVICES } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Client } from '../client/client.js';
import { DNS_SERVICE } from '../dns/zone.js';

const LABELS = {
  'k8s-app': 'kube-dns',
  'kubernetes.io/cluster-service': 'true',
  'kubernetes.io/name': 'TrellisDNS',
};
const PORTS = [
  { name: 'dns', protocol: 'UDP' },
  { name: 'dns-tcp', protocol: 'TCP' },
];

export async function ensureDnsService(client: Client, clusterIp: string): Promise<void> {
  // Looked for first: a second Service with that address would be refused for the address, not for its name.
  const found = await client
    .of(SERVICES)
    .get(DNS_SERVICE)
    .catch((error: unknown) => {
      if (ApiError.is(error, 'NotFound')) return undefined;
      throw error;
    });
  if (found === undefined) await client.of(SERVICES).create(service(clusterIp));
  // Clusters of one node had one slice, written by hand.
  await client.of(ENDPOINT_SLICES).delete(DNS_SERVICE);
}

function service(clusterIp: string): V1Service {
  return {
    metadata: { ...DNS_SERVICE, labels: LABELS },
    spec: {
      clusterIP: clusterIp,
      clusterIPs: [clusterIp],
      ports: PORTS.map((port) => ({ ...port, port: 53 })),
    },
  };
}
