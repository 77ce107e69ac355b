// What the Service API promises of packets, told by its objects: a Service and its EndpointSlice go the whole way.
// Guarantees: the ports of a case are what the proxy itself makes of the objects.

import type { ServicePort } from '../../../proxy-modes/mode.js';
import type { V1Endpoint, V1ServiceSpec } from '../../../src/api/gen/types.js';
import { servicePorts } from '../../../src/proxy/servicePorts.js';
import { NODE_IP, type Place, packetFrom } from './packet.js';
import type { SemanticCase } from './semantics.js';

const CLUSTER_IP = '10.96.0.1';
const [EXTERNAL_IP, LB_IP] = ['192.0.2.1', '198.51.100.1'];
const [HERE, THERE] = ['10.244.0.1 8080', '10.244.1.1 8080'];
/** Of this node, in zone z1. */
const NODE = { name: 'n1', zone: 'z1' };

const here = (more: Partial<V1Endpoint> = {}): V1Endpoint => ({
  addresses: ['10.244.0.1'],
  nodeName: 'n1',
  ...more,
});
const there = (more: Partial<V1Endpoint> = {}): V1Endpoint => ({
  addresses: ['10.244.1.1'],
  nodeName: 'n2',
  ...more,
});
const ENDING = { conditions: { ready: false, serving: true, terminating: true } };
const UNREADY = { conditions: { ready: false, serving: false, terminating: false } };
/** As the endpoint slice controller writes a pod that ends while its service publishes addresses that are not ready. */
const PUBLISHED = { conditions: { ready: true, serving: false, terminating: true } };
const forZone = (...zones: string[]) => ({ hints: { forZones: zones.map((name) => ({ name })) } });
const forNode = (...nodes: string[]) => ({ hints: { forNodes: nodes.map((name) => ({ name })) } });

interface Objects {
  readonly spec?: V1ServiceSpec;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ingress?: { readonly ip: string; readonly ipMode?: string };
  readonly endpoints: readonly V1Endpoint[];
}

function portOf({ spec = {}, labels = {}, ingress, endpoints }: Objects): ServicePort | undefined {
  const meta = {
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const [port] = servicePorts({
    service: {
      metadata: { ...meta, name: 's1', labels },
      spec: {
        type: 'ClusterIP',
        clusterIP: CLUSTER_IP,
        clusterIPs: [CLUSTER_IP],
        ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: spec.type === undefined ? 0 : 30_080 }],
        ...spec,
      },
      status: ingress === undefined ? {} : { loadBalancer: { ingress: [ingress] } },
    },
    slices: [
      {
        metadata: { ...meta, name: 's1-1' },
        addressType: 'IPv4',
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        endpoints,
      },
    ],
    node: NODE,
  });
  return port;
}

const LB: V1ServiceSpec = { type: 'LoadBalancer' };
const LOCAL: V1ServiceSpec = { type: 'NodePort', externalTrafficPolicy: 'Local' };

type Row = readonly [
  name: string,
  objects: Objects,
  from: Place,
  to: string,
  expected: SemanticCase['expected'],
  more?: Pick<SemanticCase, 'masqueraded' | 'otherwise'>,
];

const ROWS: readonly Row[] = [
  [
    'a load balancer of mode VIP',
    { spec: LB, ingress: { ip: LB_IP, ipMode: 'VIP' }, endpoints: [here()] },
    'pod',
    LB_IP,
    [HERE],
    { masqueraded: true },
  ],
  [
    'a load balancer of no mode is of mode VIP',
    { spec: LB, ingress: { ip: LB_IP }, endpoints: [here()] },
    'outside',
    LB_IP,
    [HERE],
    { masqueraded: true },
  ],
  [
    'a load balancer of mode Proxy keeps its address',
    { spec: LB, ingress: { ip: LB_IP, ipMode: 'Proxy' }, endpoints: [here()] },
    'pod',
    LB_IP,
    'untouched',
  ],
  [
    'a load balancer of mode Proxy has its node port',
    { spec: LB, ingress: { ip: LB_IP, ipMode: 'Proxy' }, endpoints: [here()] },
    'outside',
    NODE_IP,
    [HERE],
    { masqueraded: true },
  ],
  [
    'an address of a service that is no load balancer',
    { spec: { type: 'NodePort' }, ingress: { ip: LB_IP }, endpoints: [here()] },
    'pod',
    LB_IP,
    'untouched',
  ],
  [
    'an external IP of a service of type ClusterIP',
    { spec: { externalIPs: [EXTERNAL_IP] }, endpoints: [here()] },
    'outside',
    EXTERNAL_IP,
    [HERE],
    { masqueraded: true },
  ],
  [
    'an endpoint that is not ready gets nothing',
    { endpoints: [here(UNREADY), there()] },
    'pod',
    CLUSTER_IP,
    [THERE],
  ],
  [
    'a service whose endpoints are not ready refuses',
    { endpoints: [here(UNREADY)] },
    'pod',
    CLUSTER_IP,
    'reject',
  ],
  [
    'an endpoint that ends gets nothing while another is ready',
    { endpoints: [here(ENDING), there()] },
    'pod',
    CLUSTER_IP,
    [THERE],
  ],
  [
    'endpoints that end serve when no other is ready',
    { endpoints: [here(ENDING), there(UNREADY)] },
    'pod',
    CLUSTER_IP,
    [HERE],
  ],
  [
    'a local endpoint that ends serves policy Local when no other is there',
    { spec: LOCAL, endpoints: [here(ENDING), there()] },
    'outside',
    NODE_IP,
    [HERE],
    { otherwise: { userspace: [THERE] } },
  ],
  [
    'a published endpoint serves though it is not ready',
    { endpoints: [here(PUBLISHED)] },
    'pod',
    CLUSTER_IP,
    [HERE],
  ],
  [
    'hints for this zone',
    { endpoints: [here(forZone('z2')), there(forZone('z1'))] },
    'pod',
    CLUSTER_IP,
    [THERE],
  ],
  [
    'hints for this zone, by the node port',
    { spec: { type: 'NodePort' }, endpoints: [here(forZone('z2')), there(forZone('z1'))] },
    'outside',
    NODE_IP,
    [THERE],
    { masqueraded: true },
  ],
  [
    'hints for other zones alone',
    { endpoints: [here(forZone('z2')), there(forZone('z3'))] },
    'pod',
    CLUSTER_IP,
    [HERE, THERE],
  ],
  [
    'an endpoint without hints sends to all',
    { endpoints: [here(), there(forZone('z1'))] },
    'pod',
    CLUSTER_IP,
    [HERE, THERE],
  ],
  [
    'hints for this node',
    {
      endpoints: [
        here({ hints: { ...forZone('z1').hints, ...forNode('n1').hints } }),
        there({ hints: { ...forZone('z1').hints, ...forNode('n2').hints } }),
      ],
    },
    'pod',
    CLUSTER_IP,
    [HERE],
  ],
  [
    'hints for other nodes fall back to the zone',
    {
      endpoints: [
        here({ hints: { ...forZone('z2').hints, ...forNode('n3').hints } }),
        there({ hints: { ...forZone('z1').hints, ...forNode('n2').hints } }),
      ],
    },
    'pod',
    CLUSTER_IP,
    [THERE],
  ],
  [
    'hints count for nothing with internal policy Local',
    { spec: { internalTrafficPolicy: 'Local' }, endpoints: [here(forZone('z2')), there(forZone('z1'))] },
    'pod',
    CLUSTER_IP,
    [HERE],
  ],
  [
    'a service of another proxy',
    { labels: { 'service.kubernetes.io/service-proxy-name': 'other' }, endpoints: [here()] },
    'pod',
    CLUSTER_IP,
    'drop',
  ],
];

export const API_CASES: readonly SemanticCase[] = ROWS.map(
  ([name, objects, from, to, expected, more = {}]) => ({
    name: `by the API: ${name}`,
    port: portOf(objects),
    packet: packetFrom(from, to, to === NODE_IP ? 30_080 : 80),
    expected,
    ...more,
  }),
);
