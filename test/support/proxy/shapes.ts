// Shapes that a port of a service can have, each by a name that says what is special about it.
// Guarantees: every shape is there in both families; the three well-known services have their own names and addresses.
import type { IpFamily, ServicePort } from '../../../proxy-modes/mode.js';
import { endpoint, servicePort } from './port.js';

const ADDRESSES = {
  ip: {
    here: ['10.244.0.1', '10.244.0.2'],
    there: ['10.244.1.1', '10.244.2.1', '10.244.3.1'],
    external: ['192.0.2.1', '192.0.2.2'],
    balancer: ['198.51.100.1', '198.51.100.2'],
    ranges: ['203.0.113.0/24', '10.0.0.0/8'],
    all: '0.0.0.0/0',
  },
  ip6: {
    here: ['fd00:244::1', 'fd00:244::2'],
    there: ['fd00:244:1::1', 'fd00:244:2::1', 'fd00:244:3::1'],
    external: ['2001:db8:1::1', '2001:db8:1::2'],
    balancer: ['2001:db8:2::1', '2001:db8:2::2'],
    ranges: ['2001:db8:3::/48', 'fd00::/8'],
    all: '::/0',
  },
} as const;

function ofFamily(family: IpFamily): Record<string, ServicePort> {
  const { here, there, external, balancer, ranges, all } = ADDRESSES[family];
  const near = here.map((ip) => endpoint(ip));
  const far = there.map((ip) => endpoint(ip, false));
  const [first, second] = [near.slice(0, 1), far.slice(0, 1)];
  const both = [...first, ...second];
  const service = (more: Partial<ServicePort>) => servicePort(1, { family, endpoints: both, ...more });
  const nodePort = 30_080;
  const wide = { nodePort, externalIps: external.slice(0, 1), loadBalancerIps: balancer.slice(0, 1) };
  const nobody = { endpoints: [], served: false };
  const internal = { internalLocal: true, localEndpoints: first };
  const outside = { externalLocal: true, localEndpoints: first };
  return {
    'one endpoint of this node': service({ endpoints: first }),
    'one endpoint of another node': service({ endpoints: second }),
    'two endpoints': service({}),
    'five endpoints': service({ endpoints: [...near, ...far] }),
    'two endpoints with other ports': service({
      endpoints: [...first, ...second.map((entry) => ({ ...entry, port: 9090 }))],
    }),
    'no endpoints': service(nobody),
    'no endpoints, UDP': service({ ...nobody, protocol: 'udp' }),
    UDP: service({ protocol: 'udp' }),
    SCTP: service({ protocol: 'sctp' }),
    'a node port': service({ nodePort }),
    'a node port, UDP': service({ nodePort, protocol: 'udp' }),
    'a node port, SCTP': service({ nodePort, protocol: 'sctp' }),
    'a node port without endpoints': service({ nodePort, ...nobody }),
    'an external IP': service({ externalIps: external.slice(0, 1) }),
    'two external IPs': service({ externalIps: external }),
    'an external IP without endpoints': service({ externalIps: external.slice(0, 1), ...nobody }),
    'a load balancer': service({ nodePort, loadBalancerIps: balancer.slice(0, 1) }),
    'a load balancer without node ports': service({ loadBalancerIps: balancer.slice(0, 1) }),
    'a load balancer with two addresses': service({ nodePort, loadBalancerIps: balancer }),
    'a load balancer whose address is an external IP too': service({
      externalIps: balancer.slice(0, 1),
      loadBalancerIps: balancer.slice(0, 1),
    }),
    'a source range': service({ loadBalancerIps: balancer.slice(0, 1), sourceRanges: ranges.slice(0, 1) }),
    'two source ranges, two addresses': service({ loadBalancerIps: balancer, sourceRanges: ranges }),
    'a source range of everybody': service({ loadBalancerIps: balancer.slice(0, 1), sourceRanges: [all] }),
    'source ranges without endpoints': service({ ...wide, ...nobody, sourceRanges: ranges }),
    'source ranges without a load balancer': service({ nodePort, sourceRanges: ranges }),
    'every way in': service(wide),
    'every way in without endpoints': service({ ...wide, ...nobody }),
    affinity: service({ affinitySeconds: 10_800 }),
    'affinity, one endpoint': service({ affinitySeconds: 60, endpoints: first }),
    'affinity, every way in': service({ affinitySeconds: 60, ...wide }),
    'affinity, UDP': service({ affinitySeconds: 60, protocol: 'udp' }),
    'affinity with external policy Local': service({ affinitySeconds: 60, ...wide, ...outside }),
    'internal policy Local': service(internal),
    'internal policy Local without a local endpoint': service({
      internalLocal: true,
      endpoints: [],
      localEndpoints: [],
    }),
    'internal policy Local with every way in': service({ ...wide, ...internal }),
    'external policy Local': service({ ...wide, ...outside }),
    'external policy Local, UDP': service({ ...wide, ...outside, protocol: 'udp' }),
    'external policy Local, SCTP': service({ ...wide, ...outside, protocol: 'sctp' }),
    'external policy Local without a local endpoint': service({
      ...wide,
      externalLocal: true,
      endpoints: second,
    }),
    'external policy Local without any endpoint': service({ ...wide, ...nobody, externalLocal: true }),
    'external policy Local with source ranges': service({ ...wide, ...outside, sourceRanges: ranges }),
    'external policy Local with a health check': service({
      ...wide,
      ...outside,
      healthCheckNodePort: 31_000,
    }),
    'both policies Local': service({ ...wide, ...internal, ...outside }),
    'both policies Local without a local endpoint': service({
      ...wide,
      internalLocal: true,
      externalLocal: true,
      endpoints: second,
    }),
  };
}

const wellKnown = ['172.17.0.2', '172.17.0.3'].map((ip) => endpoint(ip, true, 80));
const WELL_KNOWN: Readonly<Record<string, ServicePort>> = {
  'my-nginx': servicePort(1, {
    name: 'default/my-nginx:',
    clusterIp: '20.1.229.191',
    port: 8000,
    endpoints: wellKnown,
  }),
  'httpd, node port 32143': servicePort(1, {
    name: 'default/httpd:http',
    clusterIp: '20.1.16.94',
    port: 8000,
    nodePort: 32_143,
    endpoints: wellKnown,
  }),
  extip: servicePort(1, {
    name: 'default/extip:',
    clusterIp: '20.1.247.181',
    port: 8000,
    externalIps: ['192.168.56.110'],
    endpoints: wellKnown,
  }),
};

export const SHAPES: readonly (readonly [string, ServicePort])[] = [
  ...(['ip', 'ip6'] as const).flatMap((family) =>
    Object.entries(ofFamily(family)).map(([name, port]) => [`${family}: ${name}`, port] as const),
  ),
  ...Object.entries(WELL_KNOWN),
];
