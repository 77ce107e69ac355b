// The tables that the iptables tool makes for itself in nf_tables when it is first used, and never takes away.
// Guarantees: only those that were not there before are removed, and only while nothing of anybody is in them.
import { KernelError } from '../kernel/error.js';
import type { NftPort, NftRequest } from '../kernel/nftables/port.js';

const NAMES = ['filter', 'nat', 'mangle', 'raw', 'security'];
const FAMILIES = ['ip', 'ip6'] as const;

/** Such as `ip filter`. */
export async function tablesOfIptables(nft: NftPort): Promise<string[]> {
  const all = await Promise.all(FAMILIES.map((family) => nft.tables({ family })));
  return all
    .flat()
    .filter(({ name }) => NAMES.includes(name))
    .map(({ family, name }) => `${family} ${name}`);
}

export async function removeUnusedTables(nft: NftPort, before: readonly string[]): Promise<void> {
  const generation = await nft.generation();
  const requests: NftRequest[] = [];
  for (const family of FAMILIES)
    for (const name of NAMES) {
      const at = { family, table: name };
      const [[table], chains, rules, sets] = await Promise.all([
        nft.tables({ family, name }),
        nft.chains(at),
        nft.rules(at),
        nft.sets(at),
      ]);
      if (table === undefined || before.includes(`${family} ${name}`)) continue;
      // A chain without a hook is somebody's, even while it is empty; and so is a policy that drops.
      const isUsed = chains.some(({ hook, policy }) => hook === undefined || policy === 'drop');
      if (isUsed || rules.length > 0 || sets.length > 0) continue;
      requests.push({ do: 'delete', kind: 'table', family, name });
    }
  await nft.commit(requests, { generation }).catch((error: unknown) => {
    // Somebody uses them just now.
    if (!(error instanceof KernelError && error.code === 'ERESTART')) throw error;
  });
}
