// How many questions are under way: of each client, and in all.
// Guarantees: beyond its limit nobody gets in; a client that has nothing under way is not remembered.

const MAX_OF_CLIENT = 256;
const MAX_IN_ALL = 4096;

export class QuestionLoad {
  readonly #byClient = new Map<string, number>();
  #all = 0;

  /** How to leave; undefined when there is no place. */
  enter(client: string): (() => void) | undefined {
    const own = this.#byClient.get(client) ?? 0;
    if (own >= MAX_OF_CLIENT || this.#all >= MAX_IN_ALL) return undefined;
    this.#byClient.set(client, own + 1);
    this.#all += 1;
    return () => {
      this.#all -= 1;
      const left = (this.#byClient.get(client) ?? 0) - 1;
      if (left > 0) this.#byClient.set(client, left);
      else this.#byClient.delete(client);
    };
  }
}
