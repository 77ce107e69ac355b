// Doctor's table of network devices.
// Guarantees: each device is made for real in a throw-away namespace, under a name of its own.
import type { Check, KernelProbe } from '../check.js';
import { features } from './build.js';

// Nothing is deleted again: deleting waits for the kernel, and the namespace goes away as a whole.
const link = (name: string, type: string) => `ip link add name ${name} type ${type}`;

export const devices: Check<KernelProbe>[] = features('Network devices', 'ip', [
  {
    id: 'veth',
    title: 'veth pairs',
    need: 'required',
    purpose: 'joins a pod to its node',
    module: 'veth',
    option: 'CONFIG_VETH',
    script: link('veth0', 'veth peer name veth1'),
  },
  {
    id: 'bridge',
    title: 'bridge',
    need: 'required',
    purpose: 'joins the pods of a node',
    module: 'bridge',
    option: 'CONFIG_BRIDGE',
    script: link('br0', 'bridge'),
  },
  {
    id: 'bridge-vlan-filtering',
    title: 'bridge VLAN filtering',
    need: 'optional',
    purpose: 'VLANs of the bridge plugin',
    option: 'CONFIG_BRIDGE_VLAN_FILTERING',
    script: link('br1', 'bridge vlan_filtering 1'),
  },
  {
    id: 'vxlan',
    title: 'vxlan',
    need: 'recommended',
    purpose: 'carries pod traffic between nodes',
    module: 'vxlan',
    option: 'CONFIG_VXLAN',
    script: link('vxlan1', 'vxlan id 1 dstport 4789'),
  },
  {
    id: 'dummy',
    title: 'dummy',
    need: 'optional',
    purpose: 'holds service addresses in IPVS mode (a bridge stands in)',
    module: 'dummy',
    option: 'CONFIG_DUMMY',
    script: link('dummy9', 'dummy'),
  },
  {
    id: 'ipv6',
    title: 'IPv6',
    need: 'recommended',
    purpose: 'dual-stack pods and services',
    module: 'ipv6',
    option: 'CONFIG_IPV6 (and net.ipv6.conf.all.disable_ipv6 = 0)',
    script: 'ip -6 addr add fd00::1/128 dev lo nodad',
  },
]);
