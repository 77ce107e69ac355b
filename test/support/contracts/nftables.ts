// What every NftPort does, the kernel's and the in-memory one alike.
// Guarantees: the same tests with the same expectations run against both.
import type { NftPort } from '../../../src/kernel/nftables/port.js';
import { objectContract } from './nftables/objects.js';
import { setContract } from './nftables/sets.js';
import { transactionContract } from './nftables/transactions.js';

export function nftContract(open: () => Promise<NftPort>): void {
  objectContract(open);
  setContract(open);
  transactionContract(open);
}
