// Doctor's table of programs, with the Debian package that brings each.
// Guarantees: a program is found on PATH or in the usual folders; its version is what it says of itself.
import type { Check, Need, ToolProbe } from '../check.js';

interface ToolRow {
  readonly name: string;
  readonly package: string;
  readonly need: Need;
  readonly purpose: string;
  /** Empty where asking for the version would need the kernel feature, or where there is no such flag. */
  readonly version?: readonly string[];
}

const NETWORK: readonly ToolRow[] = [
  {
    name: 'ip',
    package: 'iproute2',
    need: 'recommended',
    purpose: 'asks the kernel for devices',
    version: ['-V'],
  },
  { name: 'nft', package: 'nftables', need: 'recommended', purpose: 'asks for nf_tables' },
  { name: 'iptables', package: 'iptables', need: 'recommended', purpose: 'iptables proxy mode' },
  { name: 'iptables-save', package: 'iptables', need: 'recommended', purpose: 'iptables proxy mode' },
  { name: 'iptables-restore', package: 'iptables', need: 'recommended', purpose: 'iptables proxy mode' },
  { name: 'iptables-legacy', package: 'iptables', need: 'optional', purpose: 'older back end' },
  { name: 'iptables-nft', package: 'iptables', need: 'optional', purpose: 'newer back end' },
  { name: 'ip6tables', package: 'iptables', need: 'recommended', purpose: 'iptables proxy mode, IPv6' },
  { name: 'ipset', package: 'ipset', need: 'optional', purpose: 'reads address sets' },
  { name: 'ipvsadm', package: 'ipvsadm', need: 'optional', purpose: 'reads IPVS services', version: [] },
  { name: 'conntrack', package: 'conntrack', need: 'optional', purpose: 'reads tracked connections' },
  { name: 'unshare', package: 'util-linux', need: 'recommended', purpose: 'throw-away namespaces' },
  {
    name: 'nsenter',
    package: 'util-linux',
    need: 'recommended',
    purpose: 'CNI plugins in the network of a node',
  },
  { name: 'modprobe', package: 'kmod', need: 'optional', purpose: 'loads kernel modules' },
];

const CONTAINERS: readonly ToolRow[] = [
  { name: 'containerd', package: 'containerd', need: 'recommended', purpose: 'runs the containers of pods' },
  { name: 'runc', package: 'runc', need: 'recommended', purpose: 'starts one container' },
  {
    name: 'busybox',
    package: 'busybox-static',
    need: 'recommended',
    purpose: 'the busybox image that needs no registry',
    version: ['--help'],
  },
  {
    name: 'crictl',
    package: 'cri-tools (Debian 12 has no such package; the project offers one)',
    need: 'optional',
    purpose: 'looks at containerd by hand',
  },
  { name: 'etcd', package: 'etcd-server', need: 'optional', purpose: 'store for several API servers' },
  {
    name: 'kubectl',
    package: 'kubernetes-client',
    need: 'recommended',
    purpose: 'talks to the cluster',
    version: ['version', '--client'],
  },
];

const DEVELOPMENT: readonly ToolRow[] = [
  {
    name: 'node',
    package: 'nodejs',
    need: 'recommended',
    purpose: 'runs Trellis (20.19 or newer; 24 is recommended)',
  },
  { name: 'g++', package: 'g++', need: 'recommended', purpose: 'compiles the native core' },
  { name: 'make', package: 'make', need: 'recommended', purpose: 'drives the native build' },
  { name: 'python3', package: 'python3', need: 'recommended', purpose: 'runs node-gyp' },
  { name: 'cmake', package: 'cmake', need: 'optional', purpose: 'sanitizer and fuzzer builds' },
  { name: 'clang++-14', package: 'clang-14', need: 'optional', purpose: 'sanitizer and fuzzer builds' },
  {
    name: 'clang-format-14',
    package: 'clang-format-14',
    need: 'optional',
    purpose: 'lint of the C++ sources',
  },
  { name: 'llvm-symbolizer-14', package: 'llvm-14', need: 'optional', purpose: 'readable sanitizer reports' },
  {
    name: 'bridge',
    package: 'iproute2',
    need: 'optional',
    purpose: 'tests of forwarding tables',
    version: ['-V'],
  },
  { name: 'tc', package: 'iproute2', need: 'optional', purpose: 'tests of traffic control', version: ['-V'] },
  { name: 'podman', package: 'podman', need: 'optional', purpose: 'tests of the CNI plugins with podman' },
  {
    name: 'go',
    package: 'golang-go',
    need: 'optional',
    purpose: 'tests against the reference CNI library',
    version: ['version'],
  },
  {
    name: 'capsh',
    package: 'libcap2-bin',
    need: 'optional',
    purpose: 'tests without a capability',
    version: [],
  },
  {
    name: 'debootstrap',
    package: 'debootstrap',
    need: 'optional',
    purpose: 'the quick start on a fresh Debian',
  },
  {
    name: 'qemu-system-x86_64',
    package: 'qemu-system-x86',
    need: 'optional',
    purpose: 'IPVS tests in a virtual machine',
  },
  {
    name: 'linux.uml',
    package: 'user-mode-linux',
    need: 'optional',
    purpose: 'the same, started in seconds',
  },
];

const rows = (section: string, tools: readonly ToolRow[]): Check<ToolProbe>[] =>
  tools.map(({ name, package: debian, need, purpose, version = ['--version'] }) => ({
    id: `tool-${name}`,
    section,
    title: name,
    need,
    purpose,
    remedy: `apt-get install ${debian}`,
    probe: { kind: 'tool', name, versionArgs: version },
  }));

export const tools: Check<ToolProbe>[] = [
  ...rows('Network tools', NETWORK),
  ...rows('Container tools', CONTAINERS),
  ...rows('Development tools', DEVELOPMENT),
];
