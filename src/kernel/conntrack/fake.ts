// Connection tracking in memory, for tests of what stands above it.
// Guarantees: the contract suite that the kernel's adapter passes.
import { BlockList } from 'node:net';
import { type Failure, KernelError } from '../error.js';
import { checkFilter, completeFlow, familyOf, protocolNumber } from './check.js';
import type { ConntrackPort, ConntrackUsage, Flow, FlowFilter, FlowTuple, NewFlow } from './port.js';

const MAX_FLOWS = 262_144;

/** Whether the flow is one that the filter means. Both are well formed. */
function matches(filter: FlowFilter, flow: Flow): boolean {
  const same = <T>(wanted: T | undefined, value: T | undefined) => wanted === undefined || wanted === value;
  const within = (prefix: string | undefined, address: string) => {
    if (prefix === undefined) return true;
    const family = familyOf(address) === 'inet' ? 'ipv4' : 'ipv6';
    const [network = '', length = family === 'ipv4' ? '32' : '128'] = prefix.split('/');
    if (familyOf(network) !== familyOf(address)) return false;
    const list = new BlockList();
    list.addSubnet(network, Number(length), family);
    return list.check(address, family);
  };
  const { original, reply } = flow;
  const mask = BigInt(filter.markMask ?? 0xffffffff);
  return (
    same(filter.family, flow.family) &&
    (filter.protocol === undefined || protocolNumber(filter.protocol) === protocolNumber(flow.protocol)) &&
    within(filter.originalSource, original.source) &&
    within(filter.originalDestination, original.destination) &&
    within(filter.replySource, reply.source) &&
    within(filter.replyDestination, reply.destination) &&
    same(filter.originalSourcePort, original.sourcePort) &&
    same(filter.originalDestinationPort, original.destinationPort) &&
    same(filter.replySourcePort, reply.sourcePort) &&
    same(filter.replyDestinationPort, reply.destinationPort) &&
    same(filter.zone, flow.zone ?? original.zone ?? reply.zone ?? 0) &&
    (filter.mark === undefined || (BigInt(filter.mark) & mask) === (BigInt(flow.mark) & mask))
  );
}

/** What no two flows may share: a tuple of either direction, in its zone. */
function identities(flow: Omit<Flow, 'id'>): [string, string] {
  const identity = (tuple: FlowTuple) =>
    JSON.stringify([
      protocolNumber(flow.protocol),
      flow.zone ?? tuple.zone ?? 0,
      tuple.source,
      tuple.destination,
      tuple.sourcePort ?? tuple.icmpType,
      tuple.destinationPort ?? tuple.icmpCode,
      tuple.icmpId,
    ]);
  return [identity(flow.original), identity(flow.reply)];
}

export class FakeConntrack implements ConntrackPort {
  readonly #flows = new Map<number, Flow>();
  readonly #taken = new Set<string>();
  #nextId = 1;
  #isClosed = false;

  async list(filters?: readonly FlowFilter[]): Promise<Flow[]> {
    this.#requireOpen();
    for (const [index, filter] of filters?.entries() ?? []) checkFilter(filter, index);
    const flows = [...this.#flows.values()];
    return filters === undefined
      ? flows
      : flows.filter((flow) => filters.some((filter) => matches(filter, flow)));
  }

  async count(filters: readonly FlowFilter[]): Promise<number> {
    return (await this.list(filters)).length;
  }

  async usage(): Promise<ConntrackUsage> {
    this.#requireOpen();
    return { count: this.#flows.size, max: MAX_FLOWS };
  }

  async add(flows: readonly NewFlow[]): Promise<void> {
    this.#requireOpen();
    const complete = flows.map(completeFlow);
    const failures: Failure[] = [];
    for (const [index, flow] of complete.entries()) {
      const taken = identities(flow);
      if (taken.some((identity) => this.#taken.has(identity))) {
        const message = 'add flow: File exists';
        failures.push({ code: 'EEXIST', message, operation: 'add flow', kernel: '', errno: 17, index });
        continue;
      }
      for (const identity of taken) this.#taken.add(identity);
      const id = this.#nextId++;
      this.#flows.set(id, { ...flow, id });
    }
    const [first, ...rest] = failures;
    if (first !== undefined) throw new KernelError([first, ...rest]);
  }

  async delete(filters: readonly FlowFilter[]): Promise<number> {
    const doomed = await this.list(filters);
    for (const flow of doomed) {
      this.#flows.delete(flow.id);
      for (const identity of identities(flow)) this.#taken.delete(identity);
    }
    return doomed.length;
  }

  close(): void {
    this.#isClosed = true;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw KernelError.closed();
  }
}
