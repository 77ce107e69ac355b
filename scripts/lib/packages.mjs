// The Debian packages that Trellis needs, how to see that each is there, and what it is for.
// Looking costs a few stat calls and starts no process; nothing here changes the machine.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/**
 * level: `build` stops set-up when missing; `run` and `test` are reported and only disable what needs them.
 * probe: `{ tool }` is looked for on PATH, `{ file }` is a path that may hold `*` in a segment.
 * arch: Node's architecture names on which the package exists (all when absent).
 */
export const PACKAGES = [
  { name: 'g++', level: 'build', probe: { tool: 'g++' }, why: 'compiles the native core' },
  { name: 'make', level: 'build', probe: { tool: 'make' }, why: 'drives the native build' },
  {
    name: 'python3',
    level: 'build',
    probe: { tool: 'python3' },
    why: 'runs node-gyp, which writes the makefiles',
  },
  {
    name: 'iproute2',
    level: 'run',
    probe: { tool: 'ip' },
    why: 'ip, tc and bridge: read back what the core made',
  },
  { name: 'iptables', level: 'run', probe: { tool: 'iptables-restore' }, why: 'the iptables proxy mode' },
  { name: 'nftables', level: 'run', probe: { tool: 'nft' }, why: 'reads back nf_tables rules' },
  { name: 'ipset', level: 'run', probe: { tool: 'ipset' }, why: 'reads back address sets' },
  { name: 'ipvsadm', level: 'run', probe: { tool: 'ipvsadm' }, why: 'reads back IPVS services' },
  { name: 'conntrack', level: 'run', probe: { tool: 'conntrack' }, why: 'reads back tracked connections' },
  {
    name: 'util-linux',
    level: 'run',
    probe: { tool: 'unshare' },
    why: 'throw-away namespaces for tests and doctor',
  },
  {
    name: 'kmod',
    level: 'run',
    probe: { tool: 'modprobe' },
    why: 'loads kernel modules where the kernel has them',
  },
  { name: 'containerd', level: 'run', probe: { tool: 'containerd' }, why: 'runs the containers of pods' },
  { name: 'runc', level: 'run', probe: { tool: 'runc' }, why: 'starts containers for containerd' },
  {
    name: 'busybox-static',
    level: 'run',
    probe: { tool: 'busybox' },
    why: 'the busybox image; the first program of the virtual machine',
  },
  {
    name: 'kubernetes-client',
    level: 'run',
    probe: { tool: 'kubectl' },
    why: 'kubectl, for "trellis kubectl" and the tests',
  },
  {
    name: 'containernetworking-plugins',
    level: 'test',
    probe: { file: '/usr/lib/cni/bridge' },
    why: 'the reference CNI plugins, to run ours against',
  },
  {
    name: 'golang-go',
    level: 'test',
    probe: { tool: 'go' },
    why: 'builds a driver of the reference CNI library',
  },
  {
    name: 'golang-github-appc-cni-dev',
    level: 'test',
    probe: { file: '/usr/share/gocode/src/github.com/containernetworking/cni/libcni/api.go' },
    why: 'the reference CNI library, to exchange result caches with',
  },
  { name: 'etcd-server', level: 'test', probe: { tool: 'etcd' }, why: 'the other store of the apiserver' },
  {
    name: 'python3-kubernetes',
    level: 'test',
    probe: { file: '/usr/lib/python3/dist-packages/kubernetes/__init__.py' },
    why: "Python's stock client, to run against the apiserver",
  },
  {
    name: 'dbus-daemon',
    level: 'test',
    probe: { file: '/usr/bin/dbus-daemon' },
    why: 'the bus between logind and the kubelet in tests of a shutdown',
  },
  {
    name: 'systemd',
    level: 'test',
    probe: { file: '/usr/lib/systemd/systemd-logind' },
    why: 'logind, which the kubelet asks to wait for pods before a shutdown; services, in tests of "trellis install"',
  },
  { name: 'podman', level: 'test', probe: { tool: 'podman' }, why: 'runs containers with our CNI plugins' },
  { name: 'libcap2-bin', level: 'test', probe: { tool: 'capsh' }, why: 'tests that drop a capability' },
  { name: 'clang-14', level: 'test', probe: { tool: 'clang++-14' }, why: 'sanitizer and fuzzer builds' },
  {
    name: 'libclang-rt-14-dev',
    level: 'test',
    probe: { file: '/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' },
    why: 'run-time libraries of the sanitizers and the fuzzer',
  },
  {
    name: 'llvm-14',
    level: 'test',
    probe: { tool: 'llvm-symbolizer-14' },
    why: 'readable stacks in sanitizer reports',
  },
  { name: 'cmake', level: 'test', probe: { tool: 'cmake' }, why: 'drives the sanitizer and fuzzer builds' },
  {
    name: 'qemu-system-x86',
    level: 'test',
    probe: { tool: 'qemu-system-x86_64' },
    why: 'virtual machine with a kernel that has IPVS',
  },
  {
    name: 'linux-image-amd64',
    level: 'test',
    arch: ['x64'],
    probe: { file: '/boot/vmlinuz-*-amd64' },
    why: 'the kernel with IPVS that the virtual machine boots',
  },
  {
    name: 'user-mode-linux',
    level: 'test',
    arch: ['x64'],
    probe: { tool: 'linux.uml' },
    why: 'the virtual machine that starts in two seconds',
  },
];

/** The packages, of those made for this architecture, whose probe finds nothing. */
export function missingPackages({ packages = PACKAGES, arch = process.arch, find = isThere } = {}) {
  return packages.filter((pkg) => (pkg.arch?.includes(arch) ?? true) && !find(pkg.probe));
}

/** True when the probe's tool or file exists. */
export function isThere(probe) {
  if (probe.tool !== undefined) return searchPath().some((dir) => existsSync(path.join(dir, probe.tool)));
  return matchesFile(probe.file);
}

// An ordinary user's PATH on Debian leaves out the sbin folders, where most network tools are.
function searchPath() {
  const dirs = (process.env.PATH ?? '').split(':').filter((dir) => dir !== '');
  return [...new Set([...dirs, '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'])];
}

/** True when a file matches the pattern; `*` stands for any text inside one segment. */
export function matchesFile(pattern) {
  const [segments, start] = [pattern.split('/').filter((s) => s !== ''), pattern.startsWith('/') ? '/' : '.'];
  let found = [start];
  for (const segment of segments) {
    found = segment.includes('*')
      ? found.flatMap((dir) => entries(dir, segment))
      : found.map((dir) => path.join(dir, segment)).filter((file) => existsSync(file));
  }
  return found.length > 0;
}

function entries(dir, pattern) {
  const escaped = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const wanted = new RegExp(`^${escaped.join('.*')}$`);
  try {
    return readdirSync(dir)
      .filter((name) => wanted.test(name))
      .map((name) => path.join(dir, name));
  } catch {
    return []; // no such folder, or not one we may read: then it holds no match for us either
  }
}
