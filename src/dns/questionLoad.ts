// Counts the DNS queries in flight, per client and in total.
// Guarantees: no query is accepted beyond a limit; a client without queries in flight takes no memory.
import { Tally } from '../base/tally.js';

export const MAX_OF_CLIENT = 256;
export const MAX_IN_ALL = 4096;

export class QuestionLoad {
  readonly #underWay = new Tally();

  /** How to leave; undefined when there is no place. */
  enter(client: string): (() => void) | undefined {
    const isFull = this.#underWay.of(client) >= MAX_OF_CLIENT || this.#underWay.all >= MAX_IN_ALL;
    return isFull ? undefined : this.#underWay.take(client);
  }
}
