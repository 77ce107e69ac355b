// Whose turn it is: round robin over the endpoints of a port, with clients that stay. Pure but for what it remembers.
// Guarantees: what it remembers of clients is bounded and forgotten after the service's time.
import type { Endpoint } from '../mode.js';

const MOST_CLIENTS = 65_536;

export class Balancer {
  #endpoints: readonly Endpoint[] = [];
  #affinityMs: number | undefined;
  #next = 0;
  readonly #clients = new Map<string, { endpoint: Endpoint; until: number }>();

  set(endpoints: readonly Endpoint[], affinitySeconds: number | undefined): void {
    this.#endpoints = endpoints;
    this.#affinityMs = affinitySeconds === undefined ? undefined : affinitySeconds * 1000;
    for (const [client, { endpoint }] of this.#clients)
      if (this.#affinityMs === undefined || !this.#has(endpoint)) this.#clients.delete(client);
  }

  /** The endpoint for a connection of the client; undefined when there is none. */
  pick(client: string, now: number): Endpoint | undefined {
    const known = this.#clients.get(client);
    const endpoint = known !== undefined && known.until > now ? known.endpoint : this.#turn();
    if (endpoint !== undefined && this.#affinityMs !== undefined) {
      // The oldest goes first: a map keeps the order of entering.
      this.#clients.delete(client);
      if (this.#clients.size >= MOST_CLIENTS)
        for (const [oldest] of this.#clients) {
          this.#clients.delete(oldest);
          break;
        }
      this.#clients.set(client, { endpoint, until: now + this.#affinityMs });
    }
    return endpoint;
  }

  /** The endpoint did not answer: its client is free to get another. */
  failed(client: string): void {
    this.#clients.delete(client);
  }

  #turn(): Endpoint | undefined {
    const endpoint = this.#endpoints[this.#next % Math.max(1, this.#endpoints.length)];
    this.#next += 1;
    return endpoint;
  }

  #has = ({ ip, port }: Endpoint) => this.#endpoints.some((other) => other.ip === ip && other.port === port);
}
