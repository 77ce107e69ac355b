// Doctor's table of limits and kernel settings.
// Guarantees: values are only read; what Trellis changes itself is shown with the value found.
import { type Check, type Need, present } from '../check.js';
import { atLeast, file, sysctlPath } from './build.js';

interface LimitRow {
  readonly name: string;
  readonly least: number;
  readonly need: Need;
  readonly purpose: string;
}

const LIMITS: readonly LimitRow[] = [
  {
    name: 'fs.inotify.max_user_watches',
    least: 65_536,
    need: 'recommended',
    purpose: 'files that programs in pods watch',
  },
  {
    name: 'fs.inotify.max_user_instances',
    least: 512,
    need: 'recommended',
    purpose: 'programs in pods that watch files',
  },
  { name: 'fs.file-max', least: 262_144, need: 'recommended', purpose: 'files and sockets of all pods' },
  { name: 'kernel.pid_max', least: 32_768, need: 'recommended', purpose: 'processes of all pods' },
  { name: 'kernel.threads-max', least: 15_000, need: 'recommended', purpose: 'threads of all pods' },
  {
    name: 'net.netfilter.nf_conntrack_max',
    least: 65_536,
    need: 'recommended',
    purpose: 'connections through services',
  },
  {
    name: 'net.ipv4.neigh.default.gc_thresh3',
    least: 1024,
    need: 'optional',
    purpose: 'neighbours on a large overlay',
  },
  {
    name: 'net.core.rmem_max',
    least: 212_992,
    need: 'optional',
    purpose: 'netlink dumps and events without loss',
  },
  {
    name: 'net.core.somaxconn',
    least: 1024,
    need: 'optional',
    purpose: 'bursts of connections to the API server',
  },
  { name: 'vm.max_map_count', least: 65_530, need: 'optional', purpose: 'memory-mapped stores' },
];

export const limits: Check[] = [
  {
    id: 'nofile',
    section: 'Limits',
    title: 'open files (hard limit)',
    need: 'recommended',
    purpose: 'sockets and watches of the daemons',
    remedy: 'ulimit -Hn 65536, or LimitNOFILE= in the service unit',
    probe: file('/proc/self/limits', atLeast(65_536, readOpenFiles)),
  },
  ...LIMITS.map(({ name, least, need, purpose }) => ({
    id: name,
    section: 'Limits',
    title: name,
    need,
    purpose,
    remedy: `sysctl -w ${name}=${least}`,
    probe: file(sysctlPath(name), atLeast(least)),
  })),
];

/** The hard limit of open files in /proc/self/limits. */
export function readOpenFiles(text: string): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(text)?.[1];
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
}

const SETTINGS: readonly { name: string; need: Need; purpose: string; module: string }[] = [
  { name: 'net.ipv4.ip_forward', need: 'required', purpose: 'routing for pods (Trellis sets 1)', module: '' },
  { name: 'net.ipv6.conf.all.forwarding', need: 'recommended', purpose: 'the same for IPv6', module: 'ipv6' },
  {
    name: 'net.bridge.bridge-nf-call-iptables',
    need: 'recommended',
    purpose: 'services between pods of one bridge (Trellis sets 1)',
    module: 'br_netfilter',
  },
  {
    name: 'net.bridge.bridge-nf-call-ip6tables',
    need: 'recommended',
    purpose: 'the same for IPv6',
    module: 'br_netfilter',
  },
  {
    name: 'net.ipv4.conf.all.route_localnet',
    need: 'optional',
    purpose: 'node ports on 127.0.0.1',
    module: '',
  },
  {
    name: 'net.ipv4.conf.all.rp_filter',
    need: 'optional',
    purpose: 'shown because 1 drops asymmetric traffic',
    module: '',
  },
];

export const settings: Check[] = SETTINGS.map(({ name, need, purpose, module }) => ({
  id: name,
  section: 'Kernel settings',
  title: name,
  need,
  purpose,
  remedy: module === '' ? 'mount /proc/sys' : `modprobe ${module}`,
  probe: file(sysctlPath(name), (text) => present(text.trim())),
}));
