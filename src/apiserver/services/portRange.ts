// The node ports of the cluster.
// Guarantees: knows only which ports there are; who holds them is the caller's to know.
import { AllocationError } from './error.js';
import { freeNumber, type NumberRange, staticBandOf } from './freeNumber.js';

export class PortRange {
  readonly #first: number;
  readonly #last: number;
  readonly #numbers: NumberRange;

  /** `30000-32767`. */
  constructor(range: string) {
    const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(range) ?? [];
    this.#first = Number(first);
    this.#last = Number(last);
    if (!(this.#first >= 1 && this.#first <= this.#last && this.#last <= 65535))
      throw new AllocationError(
        'BAD_RANGE',
        `${range} is not a valid range of node ports, such as 30000-32767`,
      );
    const size = this.#last - this.#first + 1;
    this.#numbers = { size, staticBand: staticBandOf(size, { share: 32, most: 128 }) };
  }

  get text(): string {
    return `${this.#first}-${this.#last}`;
  }

  /** A port for which `isFree` holds; undefined when there is none. */
  choose(isFree: (port: number) => boolean, random: () => number): number | undefined {
    const number = freeNumber(this.#numbers, { isFree: (one) => isFree(this.#first + one), random });
    return number === undefined ? undefined : this.#first + number;
  }

  has(port: number): boolean {
    return Number.isInteger(port) && port >= this.#first && port <= this.#last;
  }
}
