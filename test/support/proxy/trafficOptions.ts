// Ways of telling the traffic of pods from other traffic, each of which makes rules of another shape.
import type { IpFamily, TrafficOptions } from '../../../proxy-modes/mode.js';

export const trafficOf: Readonly<Record<IpFamily, readonly TrafficOptions[]>> = {
  ip: [
    { local: { by: 'cidr', cidr: '10.244.0.0/16' } },
    { local: { by: 'interface', name: 'cni0' }, nodePortCidrs: ['192.168.0.0/20'] },
    { local: { by: 'interface-prefix', prefix: 'veth' }, localhostNodePorts: true },
    { masqueradeAll: true },
  ],
  ip6: [{ local: { by: 'cidr', cidr: 'fd00:244::/56' } }, { local: { by: 'cidr', cidr: 'fd00:244::/57' } }],
};
