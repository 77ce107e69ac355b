// Services, their slices and a node as the API tells them, for proxies over informers that a test fills.
// Guarantees: the same name and addresses make the same object.
import { ENDPOINT_SLICES, NODES, SERVICE_CIDRS, SERVICES } from '../../../src/api/resources.js';
import { StaticInformers } from '../staticInformers.js';

export const meta = (name: string, more: object = {}) => ({
  namespace: 'default',
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...more,
});

/** One port, 80 over TCP unless told otherwise. */
export const service = (name: string, ip: string, more: object = {}, protocol = 'TCP') => ({
  metadata: meta(name),
  spec: {
    type: 'ClusterIP',
    clusterIP: ip,
    clusterIPs: [ip],
    ports: [{ port: 80, protocol }],
    ...more,
  },
  status: {},
});

/** All of them on one node, on port 8080. */
export const slice = (name: string, ips: readonly string[], protocol = 'TCP', nodeName = 'n1') => ({
  metadata: meta(`${name}-1`, { labels: { 'kubernetes.io/service-name': name } }),
  addressType: 'IPv4',
  ports: [{ name: '', port: 8080, protocol }],
  endpoints: ips.map((ip) => ({ addresses: [ip], nodeName })),
});

export const serviceCidr = (...cidrs: readonly string[]) => ({
  metadata: { ...meta('kubernetes'), namespace: undefined },
  spec: { cidrs },
});

/** Informers that know the node n1, the range of services, the service and the slice. */
export function informersWith(svc: object, endpoints: object): StaticInformers {
  const informers = new StaticInformers();
  informers.of(NODES).set({ metadata: { ...meta('n1'), namespace: undefined }, spec: {}, status: {} });
  informers.of(SERVICE_CIDRS).set(serviceCidr('10.96.0.0/16'));
  informers.of(SERVICES).set(svc);
  informers.of(ENDPOINT_SLICES).set(endpoints);
  return informers;
}
