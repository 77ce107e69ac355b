// Doctor's table of network devices and traffic control.
// Guarantees: each device is made for real in a throw-away namespace, under a name of its own.
import type { Check, KernelProbe } from '../check.js';
import { features } from './build.js';

// Nothing is deleted again: deleting waits for the kernel, and the namespace goes away as a whole.
const link = (name: string, type: string) => `ip link add name ${name} type ${type}`;
const onVeth = (name: string, type: string) =>
  `ip link add name ${name}-lo type veth peer name ${name}-hi && ip link add name ${name} link ${name}-lo type ${type}`;
const qdisc = (kind: string) => `tc qdisc replace dev lo root ${kind}`;
const filter = (text: string) =>
  `tc qdisc replace dev lo ingress && tc filter add dev lo parent ffff: protocol ip ${text}`;

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
    purpose: 'keeps tenants on one bridge apart',
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
    id: 'macvlan',
    title: 'macvlan',
    need: 'optional',
    purpose: 'pods with an address on the outer network',
    module: 'macvlan',
    option: 'CONFIG_MACVLAN',
    script: onVeth('macvlan', 'macvlan mode bridge'),
  },
  {
    id: 'ipvlan',
    title: 'ipvlan',
    need: 'optional',
    purpose: "pods that share the host's MAC address",
    module: 'ipvlan',
    option: 'CONFIG_IPVLAN',
    script: onVeth('ipvlan', 'ipvlan mode l2'),
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
    id: 'ifb',
    title: 'ifb',
    need: 'optional',
    purpose: 'limits the traffic that a pod sends',
    module: 'ifb',
    option: 'CONFIG_IFB',
    script: link('ifb9', 'ifb'),
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
  {
    id: 'policy-routing',
    title: 'policy routing',
    need: 'optional',
    purpose: 'routes chosen by mark or source',
    option: 'CONFIG_IP_MULTIPLE_TABLES',
    script: 'ip rule add fwmark 1 table 100',
  },
]);

export const trafficControl: Check<KernelProbe>[] = features('Traffic control', 'tc', [
  {
    id: 'htb',
    title: 'htb',
    need: 'optional',
    purpose: 'shares bandwidth between classes',
    module: 'sch_htb',
    option: 'CONFIG_NET_SCH_HTB',
    script: qdisc('handle 1: htb'),
  },
  {
    id: 'tbf',
    title: 'tbf',
    need: 'optional',
    purpose: 'limits the traffic that a pod receives',
    module: 'sch_tbf',
    option: 'CONFIG_NET_SCH_TBF',
    script: qdisc('tbf rate 1mbit burst 10k latency 50ms'),
  },
  {
    id: 'ingress',
    title: 'ingress',
    need: 'optional',
    purpose: 'where filters meet incoming traffic',
    module: 'sch_ingress',
    option: 'CONFIG_NET_SCH_INGRESS',
    script: 'tc qdisc replace dev lo ingress',
  },
  {
    id: 'u32',
    title: 'u32',
    need: 'optional',
    purpose: 'classifies packets for the limits',
    module: 'cls_u32',
    option: 'CONFIG_NET_CLS_U32',
    script: filter('u32 match u32 0 0 flowid 1:1'),
  },
  {
    id: 'mirred',
    title: 'mirred',
    need: 'optional',
    purpose: 'leads traffic through an ifb device',
    module: 'act_mirred',
    option: 'CONFIG_NET_ACT_MIRRED',
    script: filter('u32 match u32 0 0 action mirred egress redirect dev lo'),
  },
]);
