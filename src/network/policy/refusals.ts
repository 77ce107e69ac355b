// Tells a log which connections policies refused, with the names of the pods. Pure.
// Guarantees: a connection that is tried again and again is one line a minute with how often; at most ten lines a second and
// a bounded number of connections are kept in mind, whoever sends what.
import type { Log } from '../../api/log.js';
import { packetOf, type TracedPacket, type TraceEvent } from '../../kernel/nftables/trace.js';
import { podKey } from './model.js';
import * as names from './names.js';
import type { PolicyPlanner } from './planner.js';

const REPEAT_MS = 60_000;
const MOST_KNOWN = 500;
const LINES_PER_SECOND = 10;
const PROTOCOLS: Readonly<Record<number, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  58: 'icmpv6',
  132: 'sctp',
};

interface Known {
  toldAt: number;
  /** Seen since it was told. */
  more: number;
}

interface RefusalLogOptions {
  readonly log: Log;
  readonly planner: Pick<PolicyPlanner, 'podAt'>;
  /** In milliseconds. */
  now(): number;
}

export class RefusalLog {
  readonly #options: RefusalLogOptions;
  /** In the order in which they were last told. */
  readonly #known = new Map<string, Known>();
  #second = 0;
  #lines = 0;
  #untold = 0;

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /** Steps of packets through the tables of policies. */
  heard(events: readonly TraceEvent[]): void {
    for (const step of events) {
      if (step.event === 'lost') continue;
      const message = step.verdict === 'drop' ? MESSAGES.get(step.chain) : undefined;
      const packet = message === undefined ? undefined : packetOf(step);
      if (message !== undefined && packet !== undefined) this.#refused(packet, message);
    }
  }

  #refused(packet: TracedPacket, message: string): void {
    const { source, destination, protocol, port } = packet;
    const now = this.#options.now();
    const key = `${message} ${source} ${destination} ${protocol} ${port}`;
    const known = this.#known.get(key);
    if (known !== undefined && now - known.toldAt < REPEAT_MS) {
      known.more += 1;
      return;
    }
    if (!this.#mayTell(now)) return;
    this.#known.delete(key);
    this.#known.set(key, { toldAt: now, more: 0 });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    this.#options.log.warn(message, {
      from: this.#nameOf(source),
      to: this.#nameOf(destination),
      protocol: PROTOCOLS[protocol] ?? protocol,
      ...(port === undefined ? {} : { port }),
      ...(known === undefined || known.more === 0 ? {} : { repeated: known.more }),
      ...(this.#untold === 0 ? {} : { untold: this.#untold }),
    });
    this.#untold = 0;
  }

  #mayTell(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#lines = 0;
    this.#second = second;
    this.#lines += 1;
    if (this.#lines <= LINES_PER_SECOND) return true;
    this.#untold += 1;
    return false;
  }

  /** "shop/web (10.244.0.5)", or the address of somebody who is no pod. */
  #nameOf(ip: string): string {
    const pod = this.#options.planner.podAt(ip);
    return pod === undefined ? ip : `${podKey(pod)} (${ip})`;
  }
}

/** What is said of a packet, by the chain that dropped it. */
const MESSAGES: ReadonlyMap<string, string> = new Map([
  [names.refusedChain('ingress'), 'network policies refused a connection to a pod'],
  [names.refusedChain('egress'), 'network policies refused a connection from a pod'],
  [names.UNJUDGED, 'dropped a connection of an address whose network policies are not in place yet'],
]);
