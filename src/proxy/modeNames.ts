// The names of the modes, best first. Pure: the command line knows them without loading the kernel's side.
import type { ProxyMode } from '../../proxy-modes/mode.js';

export type ModeName = ProxyMode['name'];
export const MODE_NAMES: readonly ModeName[] = ['nftables', 'iptables', 'ipvs', 'userspace'];
