// The node ports of the cluster.
// Guarantees: a port outside is refused with the range named; a port is held by one service.
import { AllocationError } from './error.js';
import { RangeAllocator, staticBandOf } from './rangeAllocator.js';

export class PortRange {
  readonly #first: number;
  readonly #last: number;
  readonly #range: RangeAllocator;

  /** `30000-32767`. */
  constructor(range: string, random: () => number) {
    const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(range) ?? [];
    this.#first = Number(first);
    this.#last = Number(last);
    if (!(this.#first >= 1 && this.#first <= this.#last && this.#last <= 65535))
      throw new AllocationError(
        'BAD_RANGE',
        `${range} is not a valid range of node ports, such as 30000-32767`,
      );
    const size = this.#last - this.#first + 1;
    this.#range = new RangeAllocator({
      size,
      staticBand: staticBandOf(size, { share: 32, most: 128 }),
      random,
    });
  }

  takeAny(): number {
    const number = this.#range.takeAny();
    if (number === undefined) throw new AllocationError('FULL', 'range is full');
    return this.#first + number;
  }

  take(port: number): void {
    if (!(Number.isInteger(port) && port >= this.#first && port <= this.#last)) {
      const why = `provided port is not in the valid range. The range of valid ports is ${this.#first}-${this.#last}`;
      throw new AllocationError('OUTSIDE', why);
    }
    if (!this.#range.take(port - this.#first))
      throw new AllocationError('TAKEN', 'provided port is already allocated');
  }

  release(port: number): void {
    this.#range.release(port - this.#first);
  }
}
