// nftables against iptables, both back ends, on this machine's kernel.
import type { Figure } from '../lib/figure.js';
import { compareModes } from './compare.js';
import { hostGoals } from './goals.js';
import { publish } from './publish.js';

export async function host(): Promise<Figure[]> {
  const rows = await compareModes(
    [
      { label: 'nftables', mode: 'nftables' },
      { label: 'iptables-nft', mode: 'iptables', backend: 'nft', upTo: 10_000 },
      { label: 'iptables-legacy', mode: 'iptables', backend: 'legacy', upTo: 10_000 },
      { label: 'userspace', mode: 'userspace', backend: 'nft', upTo: 1000 },
    ],
    [100, 1000, 5000, 10_000, 30_000, 44_000],
    300,
  );
  publish('proxy/host', { title: "On this machine's kernel", rows });
  return hostGoals(rows);
}
