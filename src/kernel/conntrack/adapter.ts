// Connection tracking of the real kernel.
// Guarantees: one dump and a few datagrams for a delete, however many filters and flows.
import type { NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import type { ConntrackPort, ConntrackUsage, Flow, FlowFilter, NewFlow } from './port.js';

class KernelConntrack implements ConntrackPort {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  list(filters?: readonly FlowFilter[]): Promise<Flow[]> {
    return this.#channel.query<Flow>({ kind: 'flow' }, filters);
  }

  async count(filters: readonly FlowFilter[]): Promise<number> {
    const [answer] = await this.#channel.query<{ count: number }>({ kind: 'count' }, filters);
    return answer?.count ?? 0;
  }

  async usage(): Promise<ConntrackUsage> {
    const [usage] = await this.#channel.query<ConntrackUsage>({ kind: 'count' });
    return usage ?? { count: 0, max: 0 };
  }

  add(flows: readonly NewFlow[]): Promise<void> {
    return this.#channel.apply(flows.map((flow) => ({ do: 'add', kind: 'flow', ...flow })));
  }

  async delete(filters: readonly FlowFilter[]): Promise<number> {
    const [answer] = await this.#channel.query<{ deleted: number }>({ kind: 'delete' }, filters);
    return answer?.deleted ?? 0;
  }

  close(): void {
    this.#channel.close();
  }
}

/** Opens connection tracking of the namespace; the caller closes it. */
export async function openConntrack(netns?: NetNs): Promise<ConntrackPort> {
  return new KernelConntrack(await Channel.open('conntrack', netns));
}
