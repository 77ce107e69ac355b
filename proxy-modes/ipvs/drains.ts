// Destinations that take no new connections and go when their last one has ended.
// Guarantees: one that serves again, or that somebody gave a weight, is left alone.
import type { IpvsPort } from '../../src/kernel/ipvs/port.js';
import type { Endpoint } from '../mode.js';
import type { ServerKey } from './plan/service.js';
import { placeOf, serverName } from './transaction.js';

interface Drain {
  readonly service: ServerKey;
  readonly endpoint: Endpoint;
}

export class Drains {
  readonly #drains = new Map<string, Drain>();

  add({ service, endpoint }: Drain): void {
    this.#drains.set(`${serverName(service)} ${placeOf(endpoint)}`, { service, endpoint });
  }

  /** Removes those that have no connections left. */
  async finish(ipvs: IpvsPort): Promise<void> {
    for (const [name, { service, endpoint }] of this.#drains) {
      const { ip: address, port } = endpoint;
      const found = await ipvs.get(service);
      const to = found?.destinations.find((other) => other.address === address && other.port === port);
      const isDraining = to?.weight === 0;
      if (isDraining && to.activeConnections + to.inactiveConnections > 0) continue;
      if (isDraining)
        await ipvs.apply([{ do: 'delete', kind: 'destination', service, address, port, missingOk: true }]);
      this.#drains.delete(name);
    }
  }
}
