// Checksums that a device leaves to the hardware below it: whether it does, and whether what is sent so arrives.
// Guarantees: looks and sets in one network namespace; a device or address that is not there is an error with its code.
import { addon, type NetNs } from './addon.js';
import { KernelError } from './error.js';

export interface OffloadPort {
  /** Whether the device leaves checksums of what it sends to what is below it. */
  txChecksum(device: string): Promise<boolean>;
  setTxChecksum(device: string, on: boolean): Promise<void>;
  /** Whether a datagram between two addresses arrives with the right checksum; false also when nobody can say. */
  arrives(way: { readonly from: string; readonly to: string; readonly timeoutMs: number }): Promise<boolean>;
}

export function openOffload(netns?: NetNs): OffloadPort {
  const asKernelError = (error: unknown) => {
    throw KernelError.from(error);
  };
  return {
    txChecksum: (device) => addon().txChecksum(netns, device).catch(asKernelError),
    setTxChecksum: (device, on) => addon().setTxChecksum(netns, device, on).catch(asKernelError),
    arrives: ({ from, to, timeoutMs }) => addon().isRefused(netns, from, to, timeoutMs).catch(asKernelError),
  };
}
