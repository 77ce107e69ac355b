// The addresses of one service network. The network's own, the broadcast and the `kubernetes` service's are never chosen.
// Guarantees: an address outside is refused with the range named; the first address is for the apiserver's own service.
import { addressAt, type Cidr, cidrSize, type Family, formatCidr, indexOf, parseCidr } from '../../api/ip.js';
import { AllocationError } from './error.js';
import { RangeAllocator, staticBandOf } from './rangeAllocator.js';

/** As kube-apiserver: a service network has at most 20 bits of addresses. */
const MAX_HOST_BITS = 20n;

export class AddressRange {
  readonly family: Family;
  readonly #cidr: Cidr;
  readonly #range: RangeAllocator;
  readonly #size: number;

  constructor(cidr: string, random: () => number) {
    const parsed = parseCidr(cidr);
    if (parsed === undefined)
      throw new AllocationError('BAD_RANGE', `${cidr} is not a valid service network`);
    if (cidrSize(parsed) > 1n << MAX_HOST_BITS || cidrSize(parsed) < 8n)
      throw new AllocationError(
        'BAD_RANGE',
        `the service network ${cidr} must have at least 8 and at most 1048576 addresses`,
      );
    this.family = parsed.family;
    this.#cidr = parsed;
    // Number n is address n+1: the network's own is left out, and in IPv4 the broadcast address too.
    this.#size = Number(cidrSize(parsed)) - (parsed.family === 'IPv4' ? 2 : 1);
    const staticBand = staticBandOf(this.#size, { share: 16, most: 256 });
    this.#range = new RangeAllocator({ size: this.#size, staticBand, random });
    this.#range.take(0);
  }

  get text(): string {
    return formatCidr(this.#cidr);
  }

  /** The address of the `kubernetes` service in `default`. */
  get first(): string {
    return addressAt(this.#cidr, 1);
  }

  takeAny(): string {
    const number = this.#range.takeAny();
    if (number === undefined) throw new AllocationError('FULL', 'range is full');
    return addressAt(this.#cidr, number + 1);
  }

  take(address: string): void {
    const number = this.#numberOf(address);
    if (number === undefined) {
      const why = `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${this.text}`;
      throw new AllocationError('OUTSIDE', why);
    }
    if (!this.#range.take(number)) throw new AllocationError('TAKEN', 'provided IP is already allocated');
  }

  release(address: string): void {
    const number = this.#numberOf(address);
    // The first address stays reserved whoever had it.
    if (number !== undefined && number !== 0) this.#range.release(number);
  }

  #numberOf(address: string): number | undefined {
    const index = indexOf(this.#cidr, address);
    const number = index === undefined ? -1 : Number(index) - 1;
    return number >= 0 && number < this.#size ? number : undefined;
  }
}

/** The address of the `kubernetes` Service in a service network: its first. */
export function kubernetesAddress(cidr: string): string {
  return new AddressRange(cidr, Math.random).first;
}
