// The part of the comparison that runs inside the virtual machine; prints its rows as one line of JSON.
import { compareModes } from './compare.js';
import type { Contender } from './measure.js';

const contenders: Contender[] = [
  { label: 'ipvs', mode: 'ipvs', backend: 'legacy' },
  // User-mode Linux has no NAT by nf_tables.
  ...(process.env['TRELLIS_VM'] === 'uml'
    ? []
    : ([
        { label: 'nftables', mode: 'nftables' },
        { label: 'iptables-nft', mode: 'iptables', backend: 'nft', upTo: 10_000 },
      ] as const)),
  { label: 'iptables-legacy', mode: 'iptables', backend: 'legacy', upTo: 10_000 },
  { label: 'userspace', mode: 'userspace', backend: 'legacy', upTo: 100 },
];
const rows = await compareModes(contenders, [100, 1000, 10_000], 50);
console.log(JSON.stringify(rows));
process.exit(0);
