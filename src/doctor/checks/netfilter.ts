// Doctor's table of packet filtering, address translation and load balancing.
// Guarantees: every row adds a real rule, set or service in a throw-away namespace; only those about the machine's own rules
// read these, and change nothing.
import { type Answer, type Check, type KernelProbe, type Need, present, type ToolProbe } from '../check.js';
import { features } from './build.js';

// The namespace goes away as a whole, so each row only needs a table of its own, named by its id.
const nft = (table: string, body: string) =>
  `nft 'add table ip ${table}; ${body.replaceAll('TABLE', table)}'`;
const nat = 'add chain ip TABLE c { type nat hook prerouting priority -100; }';
const postrouting = 'add chain ip TABLE c { type nat hook postrouting priority 100; }';

interface NftRow {
  readonly id: string;
  readonly title: string;
  readonly purpose: string;
  readonly module: string;
  readonly option: string;
  readonly body: string;
}

const NFT: readonly NftRow[] = [
  {
    id: 'nf-tables',
    title: 'tables and chains',
    purpose: 'nftables proxy mode',
    module: 'nf_tables',
    option: 'CONFIG_NF_TABLES',
    body: 'add chain ip TABLE c { type filter hook input priority 0; }',
  },
  {
    id: 'nft-nat',
    title: 'dnat',
    purpose: 'service address to pod address',
    module: 'nft_chain_nat',
    option: 'CONFIG_NFT_NAT',
    body: `${nat}; add rule ip TABLE c dnat to 10.0.0.1`,
  },
  {
    id: 'nft-masq',
    title: 'masquerade',
    purpose: 'traffic that leaves the cluster',
    module: 'nft_masq',
    option: 'CONFIG_NFT_MASQ',
    body: `${postrouting}; add rule ip TABLE c masquerade`,
  },
  {
    id: 'nft-fib',
    title: 'fib',
    purpose: 'node ports on any local address',
    module: 'nft_fib_ipv4',
    option: 'CONFIG_NFT_FIB_IPV4',
    body: `${nat}; add rule ip TABLE c fib daddr type local accept`,
  },
  {
    id: 'nft-numgen',
    title: 'numgen and verdict maps',
    purpose: 'chooses one of many endpoints',
    module: 'nft_numgen',
    option: 'CONFIG_NFT_NUMGEN',
    body: 'add chain ip TABLE c; add rule ip TABLE c numgen random mod 2 vmap { 0 : accept, 1 : drop }',
  },
  {
    id: 'nft-concat',
    title: 'concatenated map keys',
    purpose: 'one lookup for address, protocol and port',
    module: 'nf_tables',
    option: 'CONFIG_NF_TABLES',
    body: 'add map ip TABLE m { type ipv4_addr . inet_proto . inet_service : verdict; }',
  },
  {
    id: 'nft-timeout',
    title: 'sets with timeouts',
    purpose: 'session affinity',
    module: 'nf_tables',
    option: 'CONFIG_NF_TABLES',
    body:
      'add set ip TABLE s { type ipv4_addr; flags dynamic,timeout; timeout 1h; }; ' +
      'add chain ip TABLE c; add rule ip TABLE c update @s { ip saddr }',
  },
  {
    id: 'nft-reject',
    title: 'reject',
    purpose: 'services without endpoints',
    module: 'nft_reject_ipv4',
    option: 'CONFIG_NFT_REJECT',
    body: 'add chain ip TABLE c { type filter hook input priority 0; }; add rule ip TABLE c reject',
  },
];

export const nfTables: Check<KernelProbe>[] = features(
  'nf_tables',
  'nft',
  NFT.map(({ body, ...row }) => ({ ...row, need: 'recommended', script: nft(row.id, body) })),
);

// What the iptables mode writes: masquerade, comments, marks, chance and address types.
const iptablesScript = (tool: string) =>
  [
    '-t nat -A POSTROUTING -m comment --comment probe -j MASQUERADE',
    '-t nat -A OUTPUT -m addrtype --dst-type LOCAL -j MARK --or-mark 0x4000',
    '-t nat -A OUTPUT -m statistic --mode random --probability 0.5 -j RETURN',
    '-A INPUT -m conntrack --ctstate NEW -j REJECT',
  ]
    .map((rule) => `${tool} -w ${rule}`)
    .join(' && ');

const BACK_ENDS: readonly { tool: string; need: Need; family: string; option: string }[] = [
  { tool: 'iptables-nft', need: 'recommended', family: 'IPv4', option: 'CONFIG_NFT_COMPAT' },
  { tool: 'iptables-legacy', need: 'optional', family: 'IPv4', option: 'CONFIG_IP_NF_NAT' },
  { tool: 'ip6tables-nft', need: 'recommended', family: 'IPv6', option: 'CONFIG_NFT_COMPAT' },
  { tool: 'ip6tables-legacy', need: 'optional', family: 'IPv6', option: 'CONFIG_IP6_NF_NAT' },
];

export const iptables: Check<KernelProbe>[] = BACK_ENDS.flatMap(({ tool, need, family, option }) =>
  features('iptables', tool, [
    {
      id: tool,
      title: tool,
      need,
      purpose: `iptables proxy mode, ${family}`,
      module: tool.endsWith('nft') ? 'nft_compat' : tool.startsWith('ip6') ? 'ip6table_nat' : 'iptable_nat',
      option,
      script: iptablesScript(tool),
    },
  ]),
);

/** Docker sets it to DROP, and the agent then adds a chain that accepts. Each tool prints only tables that are there. */
export const forwardPolicies: Check<ToolProbe>[] = BACK_ENDS.map(({ tool, family }) => ({
  id: `forward-policy-${tool}`,
  section: 'iptables',
  title: `FORWARD, ${tool}`,
  need: 'optional',
  purpose: `the machine's policy for forwarded packets, ${family}`,
  remedy: 'install iptables; without this back end nothing in it can drop packets of pods',
  probe: { kind: 'tool', name: `${tool}-save`, versionArgs: [], judge: judgeForwardPolicy },
}));

export function judgeForwardPolicy(saved: string): Answer {
  const filter = /^\*filter$[\s\S]*?^COMMIT$/m.exec(saved)?.[0] ?? '';
  const policy = /^:FORWARD (\S+)/m.exec(filter)?.[1] ?? 'ACCEPT';
  return present(policy === 'DROP' ? 'DROP; a cluster accepts packets of pods by rules of its own' : policy);
}

const SETS: readonly { type: string; module: string; purpose: string }[] = [
  { type: 'hash:ip', module: 'ip_set_hash_ip', purpose: 'node addresses' },
  { type: 'hash:ip,port', module: 'ip_set_hash_ipport', purpose: 'service addresses' },
  { type: 'hash:ip,port,ip', module: 'ip_set_hash_ipportip', purpose: 'hairpin traffic' },
  { type: 'hash:ip,port,net', module: 'ip_set_hash_ipportnet', purpose: 'source ranges of load balancers' },
  { type: 'bitmap:port range 0-65535', module: 'ip_set_bitmap_port', purpose: 'node ports' },
];

export const ipsets: Check<KernelProbe>[] = features(
  'ipset',
  'ipset',
  SETS.map(({ type, module, purpose }) => {
    const [name = type] = type.split(' ');
    return {
      id: `ipset-${name.replaceAll(/[:,]/g, '-')}`,
      title: name,
      need: 'optional' as const,
      purpose,
      module,
      option: `CONFIG_${module.toUpperCase()}`,
      script: `ipset create ${module} ${type}`,
    };
  }),
);

export const connections: Check<KernelProbe>[] = [
  ...features('Connections', 'conntrack', [
    {
      id: 'conntrack',
      title: 'connection tracking',
      need: 'required',
      purpose: 'address translation; cleaning up after endpoints',
      module: 'nf_conntrack_netlink',
      option: 'CONFIG_NF_CT_NETLINK',
      script: 'conntrack -C',
    },
  ]),
  ...features('Connections', 'ipvsadm', [
    {
      id: 'ip-vs',
      title: 'IPVS',
      need: 'optional',
      purpose: 'ipvs proxy mode',
      module: 'ip_vs',
      option: 'CONFIG_IP_VS',
      script: 'ipvsadm -Ln',
    },
  ]),
];
