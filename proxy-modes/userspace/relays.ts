// The relays of all service ports, by key, with the rules that lead to each as they were last planned.
// Guarantees: the rules of a port are planned only once its relay listens; closing one forgets its rules too.
import {
  type IpFamily,
  internalEndpoints,
  type PerFamily,
  type ProxyState,
  type ServicePort,
  type TrafficOptions,
} from '../mode.js';
import { planService } from './plan/service.js';
import { openRelay, type Relay } from './relay.js';

type Traffic = PerFamily<TrafficOptions>;

export class Relays {
  readonly #families: ReadonlySet<IpFamily>;
  readonly #relays = new Map<string, Relay>();
  /** The rules of each service port, as last planned. */
  readonly #planned = new Map<string, string>();

  constructor(families: ReadonlySet<IpFamily>) {
    this.#families = families;
  }

  /** SCTP has no sockets here. */
  canServe({ protocol, family }: ServicePort): boolean {
    return protocol !== 'sctp' && this.#families.has(family);
  }

  /** Tells the relays of new endpoints; false where rules change as well. */
  async serve(state: ProxyState, changed: ReadonlySet<string>, traffic: Traffic): Promise<boolean> {
    for (const key of changed) {
      const port = state.get(key);
      const rulesChange =
        port === undefined
          ? this.#relays.has(key)
          : this.canServe(port) && this.#planned.get(key) !== (await this.#plan(port, traffic));
      if (rulesChange) return false;
    }
    return true;
  }

  /** The rules of all these ports, whose relays listen from now on. */
  async rulesOf(ports: readonly ServicePort[], traffic: Traffic): Promise<string[]> {
    const rules: string[] = [];
    for (const port of ports) {
      const text = await this.#plan(port, traffic);
      this.#planned.set(port.key, text);
      if (text !== '') rules.push(...text.split('\n'));
    }
    return rules;
  }

  async #plan(port: ServicePort, traffic: Traffic): Promise<string> {
    return planService(port, await this.#relayOf(port), traffic[port.family]).join('\n');
  }

  /** The relay keeps to the cluster IP's policy: it cannot tell by which address a client came. */
  async #relayOf(port: ServicePort): Promise<Relay> {
    const relay = this.#relays.get(port.key) ?? (await openRelay(port));
    this.#relays.set(port.key, relay);
    relay.balancer.set(internalEndpoints(port), port.affinitySeconds);
    return relay;
  }

  async closeExcept(kept: ReadonlySet<string>): Promise<void> {
    for (const [key, relay] of this.#relays) {
      if (kept.has(key)) continue;
      this.#relays.delete(key);
      this.#planned.delete(key);
      await relay.close();
    }
  }

  close(): void {
    for (const relay of this.#relays.values()) void relay.close();
    this.#relays.clear();
  }
}
