// What the kernel refused of one sync, and the service ports that asked for it.
// Guarantees: told after everything has been tried; what cannot be laid at the door of single ports fails the whole sync.
import { type Failure, KernelError } from '../../src/kernel/error.js';
import type { IpvsRequest } from '../../src/kernel/ipvs/port.js';
import type { ServerKey, ServicePlan } from './plan/service.js';
import { type Applied, serverName } from './transaction.js';

/** Whether a plan asks for what was refused. */
export type Blame = (failure: Failure) => ((plan: ServicePlan) => boolean) | undefined;

export class Refusals {
  #first: { readonly error: unknown } | undefined;
  #isUnclear = false;
  readonly #blamed = new Map<string, unknown>();

  constructor(private readonly applied: Applied) {}

  async take(done: Promise<unknown>, blame: Blame = () => undefined): Promise<void> {
    await done.catch((error: unknown) => {
      this.#first ??= { error };
      const failures = error instanceof KernelError ? error.failures : [];
      if (failures.length === 0) this.#isUnclear = true;
      for (const failure of failures) this.#lay(failure, blame(failure));
    });
  }

  #lay(failure: Failure, asks: ReturnType<Blame>): void {
    const services = [...this.applied.services];
    const culprits = asks === undefined ? [] : services.filter(([, { plan }]) => asks(plan));
    if (culprits.length === 0) this.#isUnclear = true;
    for (const [key] of culprits)
      if (!this.#blamed.has(key)) this.#blamed.set(key, new KernelError([failure]));
  }

  /** The ports to do without; throws when that would not help, or would leave none. */
  culprits(): ReadonlyMap<string, unknown> {
    const isAll = this.#blamed.size === this.applied.services.size;
    if (this.#first !== undefined && (this.#isUnclear || isAll)) throw this.#first.error;
    return this.#blamed;
  }
}

export function blameServers(requests: readonly IpvsRequest[]): Blame {
  return ({ index }) => {
    const request = index === undefined ? undefined : requests[index];
    if (request?.kind !== 'service' && request?.kind !== 'destination') return undefined;
    const name = serverName((request.kind === 'service' ? request : request.service) as ServerKey);
    return ({ servers }) => servers.some(({ key }) => serverName(key) === name);
  };
}

export function blameAddresses(added: readonly string[]): Blame {
  return ({ index }) => {
    const address = index === undefined ? undefined : added[index];
    return address === undefined ? undefined : ({ addresses }) => addresses.includes(address);
  };
}
