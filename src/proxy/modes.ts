// The modes a proxy can run in, by name, on this machine's kernel.
import { nftablesMode } from '../../proxy-modes/nftables/mode.js';
import type { NetNs } from '../kernel/addon.js';
import { openNft } from '../kernel/nftables/adapter.js';
import type { IpFamily, PerFamily, ProxyMode, TrafficOptions } from './state.js';

export interface ModeOptions {
  /** Name of the nftables mode's table. */
  readonly table: string;
  readonly families: readonly IpFamily[];
  readonly traffic: PerFamily<TrafficOptions>;
  /** Another namespace than our own, for tests and benchmarks. */
  readonly netns?: NetNs;
}

export async function openNftablesMode({ netns, ...options }: ModeOptions): Promise<ProxyMode> {
  return nftablesMode({ nft: await openNft(netns), ...options });
}
