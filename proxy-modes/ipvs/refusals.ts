// What the kernel refused of one sync, and the service ports that asked for it.
// Guarantees: told after everything has been tried; what cannot be laid at the door of single ports fails the whole sync; the work
// follows the number of refusals and of services, not their product.
import { type Failure, KernelError } from '../../src/kernel/error.js';
import type { IpSetRequest } from '../../src/kernel/ipset/port.js';
import type { IpvsRequest } from '../../src/kernel/ipvs/port.js';
import type { IpFamily } from '../mode.js';
import { SET_KINDS, setName } from './names.js';
import type { ServerKey, ServicePlan } from './plan/service.js';
import { type Applied, serverName } from './transaction.js';

/** The name of what was refused, as plans have it; undefined where it is nothing that a plan asks for. */
type Blame = (failure: Failure) => string | undefined;

const aServer = (key: ServerKey) => `server ${serverName(key)}`;
const anAddress = (address: string) => `address ${address}`;
/** `kind entry`. */
const anEntry = (text: string) => `entry ${text}`;

const asksFor = ({ servers, addresses, entries }: ServicePlan): string[] => [
  ...servers.map(({ key }) => aServer(key)),
  ...addresses.map(anAddress),
  ...entries.map(anEntry),
];

export class Refusals {
  readonly #applied: Applied;

  #first: { readonly error: unknown } | undefined;
  #isUnclear = false;
  readonly #refused = new Map<string, Failure>();

  constructor(applied: Applied) {
    this.#applied = applied;
  }

  async take(done: Promise<unknown>, blame: Blame = () => undefined): Promise<void> {
    await done.catch((error: unknown) => {
      this.#first ??= { error };
      const failures = error instanceof KernelError ? error.failures : [];
      if (failures.length === 0) this.#isUnclear = true;
      for (const failure of failures) {
        const name = blame(failure);
        if (name === undefined) this.#isUnclear = true;
        else if (!this.#refused.has(name)) this.#refused.set(name, failure);
      }
    });
  }

  /** The ports to do without; throws when that would not help, or would leave none. */
  culprits(): ReadonlyMap<string, unknown> {
    const blamed = new Map<string, unknown>();
    if (this.#first === undefined) return blamed;
    const left = new Set(this.#refused.keys());
    for (const [key, { plan }] of this.#applied.services)
      for (const name of asksFor(plan)) {
        const failure = this.#refused.get(name);
        if (failure === undefined) continue;
        left.delete(name);
        if (!blamed.has(key)) blamed.set(key, new KernelError([failure]));
      }
    const isAll = blamed.size === this.#applied.services.size;
    if (this.#isUnclear || left.size > 0 || isAll) throw this.#first.error;
    return blamed;
  }
}

export function blameServers(requests: readonly IpvsRequest[]): Blame {
  return ({ index }) => {
    const request = index === undefined ? undefined : requests[index];
    if (request?.kind !== 'service' && request?.kind !== 'destination') return undefined;
    return aServer((request.kind === 'service' ? request : request.service) as ServerKey);
  };
}

export function blameAddresses(added: readonly string[]): Blame {
  return ({ index }) => {
    const address = index === undefined ? undefined : added[index];
    return address === undefined ? undefined : anAddress(address);
  };
}

/** Of a request with many entries only those that are named were refused. */
export function blameEntries(family: IpFamily, requests: readonly IpSetRequest[]): Blame {
  const kinds = new Map(SET_KINDS.map((kind) => [setName(family, kind), kind]));
  return ({ index = -1, entry = -1 }) => {
    const request = requests[index];
    if (request?.kind !== 'entry' || request.do !== 'add') return undefined;
    const found = request.entries[entry];
    const text = typeof found === 'string' ? found : found?.entry;
    return text === undefined ? undefined : anEntry(`${kinds.get(request.set)} ${text}`);
  };
}
