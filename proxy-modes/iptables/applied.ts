// What the kernel's rules were made of: the rules themselves would take ten times the memory, and follow from it. Pure.
// Guarantees: counts its endpoints as it changes, so that nobody has to go through all services for that.
import type { ServicePort } from '../mode.js';

/** Absent entries are gone. */
export type Changes = ReadonlyMap<string, ServicePort | undefined>;

/** With more endpoints kube-proxy leaves out the comments of rules that are there once an endpoint. */
const LARGE = 1000;

export class Applied {
  readonly #services = new Map<string, ServicePort>();
  #endpoints = 0;

  get services(): ReadonlyMap<string, ServicePort> {
    return this.#services;
  }

  /** Whether it is a large cluster once these have changed. */
  isLargeWith(changes: Changes): boolean {
    let endpoints = this.#endpoints;
    for (const [key, entry] of changes) endpoints += countOf(entry) - countOf(this.#services.get(key));
    return endpoints > LARGE;
  }

  change(changes: Changes): void {
    for (const [key, entry] of changes) {
      this.#endpoints += countOf(entry) - countOf(this.#services.get(key));
      if (entry === undefined) this.#services.delete(key);
      else this.#services.set(key, entry);
    }
  }
}

const countOf = (port: ServicePort | undefined) => port?.endpoints.length ?? 0;
