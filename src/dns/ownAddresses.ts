// The addresses of this machine, as they are now: pods of its own network ask from any of them.
// Guarantees: the devices are read once a second at most, whoever asks.
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

const KEPT_MS = 1000;

type Interfaces = NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'address'>[]>;

/** Whether an address, in its shortest form, is one of this machine's. */
export function ownAddresses(
  read: () => Interfaces = networkInterfaces,
  ticks: () => number = () => performance.now(),
): (address: string) => boolean {
  let known = new Set<string>();
  let until = Number.NEGATIVE_INFINITY;
  return (address) => {
    if (ticks() >= until) {
      known = new Set(Object.values(read()).flatMap((list = []) => list.map((one) => one.address)));
      until = ticks() + KEPT_MS;
    }
    return known.has(address);
  };
}
