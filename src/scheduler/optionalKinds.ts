// Kinds that an apiserver may or may not have: followed where they are served, absent otherwise.
// Guarantees: a kind that is not served never keeps the scheduler from starting.
import type { KubeObject } from '../api/object.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { BackOff } from '../base/backOff.js';
import { pause } from '../base/deadline.js';
import type { Client } from '../client/client.js';
import { ClientError } from '../client/error.js';
import type { Informer, Informers } from '../client/informer.js';

export class OptionalKinds {
  readonly #informers: Informers;
  readonly #served: ReadonlySet<string>;

  private constructor(informers: Informers, served: ReadonlySet<string>) {
    this.#informers = informers;
    this.#served = served;
  }

  /** Asks the server what it has, until it answers or the signal ends it. */
  static async discover(
    { client, informers, signal }: { client: Client; informers: Informers; signal: AbortSignal },
    types: readonly ResourceType[],
  ): Promise<OptionalKinds> {
    const served = new Set<string>();
    for (const apiVersion of new Set(types.map(apiVersionOf)))
      for (const resource of await resourcesOf(client, apiVersion, signal))
        served.add(`${apiVersion}/${resource}`);
    const kinds = new OptionalKinds(informers, served);
    // Started now, so that they are complete before the first choice.
    for (const type of types) kinds.of(type);
    return kinds;
  }

  of<T extends KubeObject>(type: ResourceType<T>): Informer<T> | undefined {
    return this.#served.has(`${apiVersionOf(type)}/${type.resource}`) ? this.#informers.of(type) : undefined;
  }
}

/** The resources of a group and version; none when the server does not have it. */
async function resourcesOf(
  client: Client,
  apiVersion: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const backoff = new BackOff({ firstMs: 200, longestMs: 10_000, random: Math.random });
  while (!signal.aborted) {
    try {
      const { resources = [] } = await client.raw<{ resources?: { name: string }[] }>('GET', path);
      return resources.map(({ name }) => name);
    } catch (error) {
      if (!mayPass(error)) return [];
      await pause(backoff.next(), signal);
    }
  }
  return [];
}

/** Not found and forbidden are answers; a server that is busy or away has not answered. */
function mayPass(error: unknown): boolean {
  if (ClientError.is(error, 'UNREACHABLE')) return true;
  return error instanceof ApiError && (error.code === 429 || error.code >= 500);
}
