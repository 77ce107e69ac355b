// Every kernel feature that doctor asks for, and the place in the product that depends on it.
// Guarantees: a row of a feature that nothing uses is found; so is a row whose use has gone.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { kernelFeatures } from '../../../src/doctor/checks/index.js';

/** What containerd and runc use of the kernel to run a pod's containers. */
const RUNTIME = new Set(['cgroupns', 'overlayfs', 'cgroup-bpf']);

const IPTABLES = ['src/kernel/iptables/adapter.ts', "'iptables' : 'ip6tables'}-"] as const;

/** A file and what in it needs the feature. */
const USES: Readonly<Record<string, readonly [file: string, text: string]>> = {
  netns: ['native/node/node.cc', 'CLONE_NEWNET'],
  pidns: ['native/node/node.cc', 'CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID'],
  userns: ['src/kubelet/container/userNamespaces.ts', 'hostUsers'],
  veth: ['cni-plugins/bridge/links.cc', 'link.type = "veth"'],
  bridge: ['src/network/podNetwork.ts', "type: 'bridge'"],
  'bridge-vlan-filtering': ['cni-plugins/bridge/links.cc', 'vlanFiltering = true'],
  vxlan: ['src/network/overlay/device.ts', "type: 'vxlan'"],
  dummy: ['proxy-modes/ipvs/mode.ts', "type: 'dummy'"],
  ipv6: ['src/cli/cluster/options.ts', '--dual-stack'],
  'nf-tables': ['src/network/podNetwork.ts', 'NftRequest'],
  'nft-nat': ['proxy-modes/nftables/plan/chain.ts', 'dnatToLoaded(family)'],
  'nft-masq': ['proxy-modes/nftables/plan/base.ts', "masquerade('fully-random')"],
  'nft-fib': ['proxy-modes/nftables/plan/base.ts', "fibType(['daddr'], 'local')"],
  'nft-numgen': ['proxy-modes/nftables/plan/chain.ts', 'numgen: {'],
  'nft-concat': ['proxy-modes/nftables/plan/base.ts', "'inet_proto', 'inet_service'"],
  'nft-timeout': ['proxy-modes/nftables/plan/base.ts', "flags: ['dynamic', 'timeout']"],
  'nft-reject': ['proxy-modes/nftables/plan/base.ts', "reject(family, 'port-unreachable')"],
  'iptables-nft': IPTABLES,
  'iptables-legacy': IPTABLES,
  'ip6tables-nft': IPTABLES,
  'ip6tables-legacy': IPTABLES,
  'ipset-hash-ip': ['proxy-modes/ipvs/names.ts', "'hash:ip'"],
  'ipset-hash-ip-port': ['proxy-modes/ipvs/names.ts', "'hash:ip,port'"],
  'ipset-hash-ip-port-ip': ['proxy-modes/ipvs/names.ts', "'hash:ip,port,ip'"],
  'ipset-hash-ip-port-net': ['proxy-modes/ipvs/names.ts', "'hash:ip,port,net'"],
  'ipset-bitmap-port': ['proxy-modes/ipvs/names.ts', "'bitmap:port'"],
  conntrack: ['src/proxy/serving.ts', 'openConntrack'],
  'ip-vs': ['src/proxy/modes.ts', 'openIpvs('],
};

test('every kernel feature that doctor asks for is one that Trellis or its runtime uses', () => {
  const ids = kernelFeatures.map(({ id }) => id);
  expect(ids.filter((id) => !RUNTIME.has(id)).sort()).toEqual(Object.keys(USES).sort());
});

test.each(Object.entries(USES))('%s is still used there', (_, [file, text]) => {
  expect(readFileSync(file, 'utf8').includes(text), `${text} in ${file}`).toBe(true);
});
