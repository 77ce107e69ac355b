// The modes a proxy can run in, by name.
import { nftablesMode } from '../../proxy-modes/nftables/mode.js';
import { openNft } from '../kernel/nftables/adapter.js';
import type { IpFamily, ProxyMode } from './state.js';

export interface ModeOptions {
  /** Name of the mode's table. */
  readonly table: string;
  readonly families: readonly IpFamily[];
  /** The pods' range of each family that has one. */
  readonly clusterCidrs: Readonly<Partial<Record<IpFamily, string>>>;
}

export async function openNftablesMode(options: ModeOptions): Promise<ProxyMode> {
  return nftablesMode({ nft: await openNft(), ...options });
}
