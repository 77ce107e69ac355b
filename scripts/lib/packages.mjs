// The Debian packages that Trellis needs, how to see that each is there, and what it is for.
// Looking costs a few stat calls and starts no process; nothing here changes the machine.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { levelOf } from './levels.mjs';

/**
 * levels: those of levels.mjs that want it. `build` stops set-up when missing; the rest is reported and only disables
 * what needs it.
 * probe: `{ tool }` is looked for on PATH, `{ file }` is a path that may hold `*` in a segment.
 * arch: Node's architecture names on which the package exists (all when absent).
 */
export const PACKAGES = [
  { name: 'g++', levels: ['build'], probe: { tool: 'g++' }, why: 'compiles the native core' },
  { name: 'make', levels: ['build'], probe: { tool: 'make' }, why: 'drives the native build' },
  {
    name: 'python3',
    levels: ['build'],
    probe: { tool: 'python3' },
    why: 'runs node-gyp, which writes the makefiles',
  },
  {
    name: 'iproute2',
    levels: ['run', 'compare', 'test'],
    probe: { tool: 'ip' },
    why: 'ip, tc and bridge, which doctor asks the kernel with',
  },
  {
    name: 'iptables',
    levels: ['run', 'compare'],
    probe: { tool: 'iptables-restore' },
    why: 'the iptables proxy mode',
  },
  {
    name: 'nftables',
    levels: ['run'],
    probe: { tool: 'nft' },
    why: 'nft, which doctor asks the kernel with',
  },
  { name: 'ipset', levels: ['bench', 'test'], probe: { tool: 'ipset' }, why: 'reads back address sets' },
  { name: 'ipvsadm', levels: ['bench', 'test'], probe: { tool: 'ipvsadm' }, why: 'reads back IPVS services' },
  {
    name: 'conntrack',
    levels: ['run'],
    probe: { tool: 'conntrack' },
    why: 'conntrack, which doctor asks the kernel with',
  },
  {
    name: 'util-linux',
    levels: ['run', 'compare'],
    probe: { tool: 'unshare' },
    why: 'mounts of pods; throw-away namespaces for doctor',
  },
  {
    name: 'kmod',
    levels: ['run', 'compare'],
    probe: { tool: 'modprobe' },
    why: 'modprobe, by which the kernel loads its modules',
  },
  { name: 'containerd', levels: ['run'], probe: { tool: 'containerd' }, why: 'runs the containers of pods' },
  { name: 'runc', levels: ['run'], probe: { tool: 'runc' }, why: 'starts containers for containerd' },
  {
    name: 'busybox-static',
    levels: ['run', 'compare'],
    probe: { tool: 'busybox' },
    why: 'the busybox image; the first program of the virtual machine',
  },
  {
    name: 'kubernetes-client',
    levels: ['run'],
    probe: { tool: 'kubectl' },
    why: 'kubectl, for "trellis kubectl" and the tests',
  },
  {
    name: 'containernetworking-plugins',
    levels: ['bench', 'test'],
    probe: { file: '/usr/lib/cni/bridge' },
    why: 'the reference CNI plugins, to run ours against',
  },
  {
    name: 'golang-go',
    levels: ['test'],
    probe: { tool: 'go' },
    why: 'builds a driver of the reference CNI library',
  },
  {
    name: 'golang-github-appc-cni-dev',
    levels: ['test'],
    probe: { file: '/usr/share/gocode/src/github.com/containernetworking/cni/libcni/api.go' },
    why: 'the reference CNI library, to exchange result caches with',
  },
  {
    name: 'etcd-server',
    levels: ['bench', 'test'],
    probe: { tool: 'etcd' },
    why: 'the other store of the apiserver',
  },
  {
    name: 'python3-kubernetes',
    levels: ['test'],
    probe: { file: '/usr/lib/python3/dist-packages/kubernetes/__init__.py' },
    why: "Python's stock client, to run against the apiserver",
  },
  {
    name: 'dbus-daemon',
    levels: ['test'],
    probe: { file: '/usr/bin/dbus-daemon' },
    why: 'the bus between logind and the kubelet in tests of a shutdown',
  },
  {
    name: 'systemd',
    levels: ['test'],
    probe: { file: '/usr/lib/systemd/systemd-logind' },
    why: 'logind, which the kubelet asks to wait for pods before a shutdown; services, in tests of "trellis install"',
  },
  {
    name: 'podman',
    levels: ['test'],
    probe: { tool: 'podman' },
    why: 'runs containers with our CNI plugins',
  },
  { name: 'libcap2-bin', levels: ['test'], probe: { tool: 'capsh' }, why: 'tests that drop a capability' },
  { name: 'clang-14', levels: ['test'], probe: { tool: 'clang++-14' }, why: 'sanitizer and fuzzer builds' },
  {
    name: 'libclang-rt-14-dev',
    levels: ['test'],
    probe: { file: '/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' },
    why: 'run-time libraries of the sanitizers and the fuzzer',
  },
  {
    name: 'llvm-14',
    levels: ['test'],
    probe: { tool: 'llvm-symbolizer-14' },
    why: 'readable stacks in sanitizer reports',
  },
  {
    name: 'clang-format-14',
    levels: ['test'],
    probe: { tool: 'clang-format-14' },
    why: 'the form of the C++ sources',
  },
  {
    name: 'cmake',
    levels: ['test'],
    probe: { tool: 'cmake' },
    why: 'drives the sanitizer and fuzzer builds',
  },
  {
    name: 'debootstrap',
    levels: ['test'],
    probe: { tool: 'debootstrap' },
    why: 'makes the fresh Debian on which the quick start is tried',
  },
  {
    name: 'qemu-system-x86',
    levels: ['compare', 'test'],
    probe: { tool: 'qemu-system-x86_64' },
    why: 'virtual machine with a kernel that has IPVS',
  },
  {
    name: 'linux-image-amd64',
    levels: ['compare', 'test'],
    arch: ['x64'],
    probe: { file: '/boot/vmlinuz-*-amd64' },
    why: 'the kernel with IPVS that the virtual machine boots',
  },
  {
    name: 'user-mode-linux',
    levels: ['bench', 'test'],
    arch: ['x64'],
    probe: { tool: 'linux.uml' },
    why: 'the virtual machine that starts in two seconds',
  },
];

/** The packages of the levels, of those made for this architecture, whose probe finds nothing. */
export function missingPackages(levels, { packages = PACKAGES, arch = process.arch, find = isThere } = {}) {
  return packages.filter(
    (pkg) => levelOf(pkg, levels) !== undefined && (pkg.arch?.includes(arch) ?? true) && !find(pkg.probe),
  );
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
