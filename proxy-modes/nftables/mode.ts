// The nftables mode: the one place of it that touches the kernel.
// Guarantees: each family is one atomic transaction; what was committed is remembered only after it was.
import type { NftPort } from '../../src/kernel/nftables/port.js';
import type { IpFamily, ProxyMode, ProxyState } from '../../src/proxy/state.js';
import { type Applied, transaction } from './transaction.js';

export interface NftablesModeOptions {
  readonly nft: NftPort;
  readonly table: string;
  readonly families: readonly IpFamily[];
  /** The pods' range of each family that has one. */
  readonly clusterCidrs: Readonly<Partial<Record<IpFamily, string>>>;
}

export function nftablesMode({ nft, table, families, clusterCidrs }: NftablesModeOptions): ProxyMode {
  const applied = new Map<IpFamily, Applied>();
  const syncFamily = async (family: IpFamily, state: ProxyState) => {
    const clusterCidr = clusterCidrs[family];
    const options = clusterCidr === undefined ? {} : { clusterCidr };
    const { requests, result } = transaction({ family, table }, state, applied.get(family), options);
    applied.delete(family);
    if (requests.length > 0) await nft.commit(requests);
    applied.set(family, result);
  };
  return {
    sync: async (state) => {
      for (const family of families) await syncFamily(family, state);
    },
    cleanUp: async () => {
      await nft.commit(
        (['ip', 'ip6'] as const).map((family) => ({ do: 'destroy', kind: 'table', family, name: table })),
      );
      applied.clear();
    },
    close: () => nft.close(),
  };
}
