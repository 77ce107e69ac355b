// What IPVS needs of the kernel's settings, as kube-proxy sets them. Pure.

const ALWAYS: Readonly<Record<string, string>> = {
  // Masquerading goes by conntrack.
  'net/ipv4/vs/conntrack': '1',
  'net/ipv4/vs/expire_nodest_conn': '1',
  'net/ipv4/vs/expire_quiescent_template': '1',
  'net/ipv4/ip_forward': '1',
};
/** Before 5.9 a client's port that comes back would wait a second for its new connection; since then it costs nothing. */
const BEFORE_5_9: Readonly<Record<string, string>> = { 'net/ipv4/vs/conn_reuse_mode': '0' };
const STRICT_ARP: Readonly<Record<string, string>> = {
  'net/ipv4/conf/all/arp_ignore': '1',
  'net/ipv4/conf/all/arp_announce': '2',
};

/** `release` as uname tells it: 6.1.0-18-amd64. */
export function ipvsSysctls({ release, strictArp = false }: { release: string; strictArp?: boolean }) {
  const [major = 0, minor = 0] = release.split(/[^0-9]/).map(Number);
  const isOld = major < 5 || (major === 5 && minor < 9);
  return { ...ALWAYS, ...(isOld ? BEFORE_5_9 : {}), ...(strictArp ? STRICT_ARP : {}) };
}
