// Ends stale UDP flows as the proxy's state changes; remembers the UDP ports it has followed, and only those.
// Guarantees: flows are judged by the state that was written, not by one that came meanwhile; what could not be ended is
// judged anew with the next call.

import type { ProxyState, ServicePort } from '../../proxy-modes/mode.js';
import type { ConntrackPort } from '../kernel/conntrack/port.js';
import { flowsTo, mayLeaveStale, staleAmong } from './staleFlows.js';

/** UDP ports at one moment; undefined: gone. */
export type UdpPorts = ReadonlyMap<string, ServicePort | undefined>;

export class StaleFlowRemoval {
  readonly #conntrack: ConntrackPort;

  readonly #followed = new Map<string, ServicePort>();
  /** Ports whose flows are still to be judged, as they were before. */
  readonly #due = new Map<string, ServicePort | undefined>();
  /** The ranges of services with which all flows were judged last. */
  #judgedWith: readonly string[] | undefined;

  constructor(conntrack: ConntrackPort) {
    this.#conntrack = conntrack;
  }

  /** Of a state about to be written; `changed` are the keys that may differ from the last one. */
  snapshot(state: ProxyState, changed?: ReadonlySet<string>): UdpPorts {
    const ports = new Map<string, ServicePort | undefined>();
    for (const key of changed ?? new Set([...this.#followed.keys(), ...state.keys()])) {
      const now = state.get(key);
      const udp = now?.protocol === 'udp' ? now : undefined;
      if (udp !== this.#followed.get(key)) ports.set(key, udp);
    }
    return ports;
  }

  /** After its rules are in place: an earlier end would let flows come back the old way. Answers how many it ended. */
  async follow(written: UdpPorts, serviceCidrs: readonly string[]): Promise<number> {
    for (const [key, now] of written) {
      if (!this.#due.has(key)) this.#due.set(key, this.#followed.get(key));
      if (now === undefined) this.#followed.delete(key);
      else this.#followed.set(key, now);
    }
    const isKnown = this.#judgedWith === serviceCidrs;
    const ended = isKnown ? await this.#judge([...this.#due]) : await this.#judgeAll(serviceCidrs);
    this.#judgedWith = serviceCidrs;
    this.#due.clear();
    return ended;
  }

  /** At the start nothing is remembered: whatever goes to a service must go to one of its endpoints, or to nobody. */
  async #judgeAll(serviceCidrs: readonly string[]): Promise<number> {
    if (this.#followed.size === 0 && serviceCidrs.length === 0) return 0;
    const flows = await this.#conntrack.list([{ protocol: 'udp' }]);
    return this.#end(staleAmong(flows, { now: this.#followed.values(), serviceCidrs }));
  }

  async #judge(due: readonly (readonly [string, ServicePort | undefined])[]): Promise<number> {
    const changes = due
      .map(([key, before]) => ({ before, now: this.#followed.get(key) }))
      .filter(({ before, now }) => mayLeaveStale(before, now));
    const now = changes.flatMap((change) => change.now ?? []);
    const gone = changes.flatMap((change) => change.before ?? []);
    if (now.length + gone.length === 0) return 0;
    return this.#end(staleAmong(await this.#conntrack.list(flowsTo([...now, ...gone])), { now, gone }));
  }

  async #end(filters: ReturnType<typeof staleAmong>): Promise<number> {
    return filters.length === 0 ? 0 : this.#conntrack.delete(filters);
  }
}
