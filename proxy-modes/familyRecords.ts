// What a mode knows to be in the kernel, family by family, and the options of the traffic it is made for. Pure.
// Guarantees: what is forgotten while it is being written stays unknown.
import { withServiceCidrs } from './families.js';
import type { IpFamily, PerFamily, TrafficOptions } from './mode.js';

export class FamilyRecords<Written> {
  readonly #given: PerFamily<TrafficOptions>;
  #traffic: PerFamily<TrafficOptions>;
  readonly #records = new Map<IpFamily, Written>();
  #forgotten = 0;

  constructor(traffic: PerFamily<TrafficOptions>) {
    this.#given = traffic;
    this.#traffic = traffic;
  }

  traffic(family: IpFamily): TrafficOptions {
    return this.#traffic[family] ?? {};
  }

  /** Undefined where it is not known what the kernel has. */
  get(family: IpFamily): Written | undefined {
    return this.#records.get(family);
  }

  /** The families of which it is known. */
  known(): Iterable<[IpFamily, Written]> {
    return this.#records;
  }

  /** The family is unknown until the returned function is called after the write, and then still if it was forgotten meanwhile. */
  write(family: IpFamily): (record: Written) => void {
    this.#records.delete(family);
    const start = this.#forgotten;
    return (record) => {
      if (start === this.#forgotten) this.#records.set(family, record);
    };
  }

  setServiceCidrs(cidrs: readonly string[]): void {
    this.#traffic = withServiceCidrs(this.#given, cidrs);
    this.forget();
  }

  forget(): void {
    this.#forgotten += 1;
    this.#records.clear();
  }
}
