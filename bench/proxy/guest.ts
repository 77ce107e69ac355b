// The part of the comparison that runs inside the virtual machine; prints its rows as one line of JSON.
import { compareModes, sizes } from './compare.js';
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
  { label: 'iptables-legacy', mode: 'iptables', backend: 'legacy', upTo: 5000 },
  { label: 'userspace', mode: 'userspace', backend: 'legacy', upTo: 1000 },
];
const rows = await compareModes(contenders, sizes([100, 1000, 5000]), 50);
console.log(JSON.stringify(rows));
process.exit(0);
