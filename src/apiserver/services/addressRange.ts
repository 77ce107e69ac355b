// The addresses of one service network. The network's own and, in IPv4, the broadcast address are never given.
// Guarantees: knows only which addresses there are; who holds them is the caller's to know.
import { addressAt, type Cidr, cidrSize, type Family, formatCidr, indexOf, parseCidr } from '../../api/ip.js';
import { AllocationError } from './error.js';
import { freeNumber, type NumberRange, staticBandOf } from './freeNumber.js';

/** As kube-apiserver: a service network has at most 20 bits of addresses; of a larger ServiceCIDR so many are chosen from. */
const MOST_ADDRESSES = 1n << 20n;
const LEAST_ADDRESSES = 8n;

export class AddressRange {
  readonly family: Family;
  readonly text: string;
  readonly #cidr: Cidr;
  readonly #usable: bigint;
  readonly #numbers: NumberRange;

  constructor(cidr: string) {
    const parsed = parseCidr(cidr);
    if (parsed === undefined)
      throw new AllocationError('BAD_RANGE', `${cidr} is not a valid service network`);
    this.family = parsed.family;
    this.text = formatCidr(parsed);
    this.#cidr = parsed;
    this.#usable = cidrSize(parsed) - (parsed.family === 'IPv4' ? 2n : 1n);
    const size = Math.max(0, Number(this.#usable < MOST_ADDRESSES ? this.#usable : MOST_ADDRESSES));
    this.#numbers = { size, staticBand: staticBandOf(size, { share: 16, most: 256 }) };
  }

  /** Where the `kubernetes` service in `default` is, in a network given by flag. */
  get first(): string {
    return addressAt(this.#cidr, 1);
  }

  /** An address for which `isFree` holds; undefined when there is none. */
  choose(isFree: (address: string) => boolean, random: () => number): string | undefined {
    // Number n is address n+1: the network's own is left out.
    const addressOf = (number: number) => addressAt(this.#cidr, number + 1);
    const number = freeNumber(this.#numbers, { isFree: (one) => isFree(addressOf(one)), random });
    return number === undefined ? undefined : addressOf(number);
  }

  /** Also the addresses that are never given. */
  covers(address: string): boolean {
    return indexOf(this.#cidr, address) !== undefined;
  }

  has(address: string): boolean {
    const index = indexOf(this.#cidr, address) ?? 0n;
    return index >= 1n && index <= this.#usable;
  }
}

/** A network of --service-cluster-ip-range. Throws BAD_RANGE. */
export function serviceNetwork(cidr: string): AddressRange {
  const parsed = parseCidr(cidr);
  if (parsed !== undefined && (cidrSize(parsed) > MOST_ADDRESSES || cidrSize(parsed) < LEAST_ADDRESSES))
    throw new AllocationError(
      'BAD_RANGE',
      `the service network ${cidr} must have at least 8 and at most 1048576 addresses`,
    );
  return new AddressRange(cidr);
}

/** The address of the `kubernetes` Service in a service network: its first. */
export function kubernetesAddress(cidr: string): string {
  return serviceNetwork(cidr).first;
}
