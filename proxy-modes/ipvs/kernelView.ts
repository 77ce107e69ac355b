// What the kernel holds of this mode and of the node, read anew each time; and whether that is what was put there.
// Guarantees: reads only; many servers or entries do not hold the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cidr } from '../../src/api/ip.js';
import type { IpSetPort } from '../../src/kernel/ipset/port.js';
import type { IpvsPort, IpvsService } from '../../src/kernel/ipvs/port.js';
import type { RoutePort } from '../../src/kernel/route/port.js';
import type { IpFamily } from '../mode.js';
import type { Found } from './found.js';
import { sameMembers, serverIntact } from './intact.js';
import { hostOf, named } from './listing.js';
import { DEVICE, SET_KINDS } from './names.js';
import { entriesOf } from './sets.js';
import type { Applied } from './transaction.js';

/** Servers compared between two turns of the event loop. */
const SLICE_SERVERS = 200;
const isLinkLocal = (address: string) => address.startsWith('fe80:');

export class KernelView {
  readonly #ports: { readonly ipvs: IpvsPort; readonly ipset: IpSetPort; readonly route: RoutePort };
  readonly #excluded: readonly Cidr[];

  constructor(
    ports: { readonly ipvs: IpvsPort; readonly ipset: IpSetPort; readonly route: RoutePort },
    /** Networks whose servers belong to somebody else. */
    excluded: readonly Cidr[],
  ) {
    this.#ports = ports;
    this.#excluded = excluded;
  }

  /** Addresses of our device; none without it. */
  async held(family: IpFamily): Promise<string[]> {
    const { route } = this.#ports;
    if ((await route.link(DEVICE)) === undefined) return [];
    const all = await route.addresses({ dev: DEVICE, family: family === 'ip' ? 'inet' : 'inet6' });
    return all.map(({ address }) => hostOf(address)).filter((address) => !isLinkLocal(address));
  }

  /** Every other address of the node, in order. */
  async localIps(): Promise<string[]> {
    const device = await this.#ports.route.link(DEVICE);
    const all = await this.#ports.route.addresses();
    return all
      .filter(({ dev, address }) => dev !== device?.index && !isLinkLocal(address))
      .map(({ address }) => hostOf(address))
      .sort();
  }

  async find(family: IpFamily, localIps: readonly string[]): Promise<Found> {
    const { ipvs, ipset } = this.#ports;
    const entries = await Promise.all(SET_KINDS.map((kind) => entriesOf(ipset, family, kind)));
    return {
      family,
      services: await ipvs.list(),
      held: await this.held(family),
      localIps,
      entries: new Set(entries.flatMap((list) => list ?? [])),
      excluded: this.#excluded,
    };
  }

  async hasServers({ servers }: Applied, listed: readonly IpvsService[]): Promise<boolean> {
    const found = new Map(listed.flatMap(named));
    let looked = 0;
    for (const [name, [wanted]] of servers) {
      if (!serverIntact(found.get(name), wanted)) return false;
      looked += 1;
      if (looked % SLICE_SERVERS === 0) await nextTurn();
    }
    return true;
  }

  /** Those, and no others. */
  async hasAddresses(family: IpFamily, { addresses }: Applied): Promise<boolean> {
    return sameMembers(addresses.keys(), await this.held(family));
  }

  async hasEntries(family: IpFamily, { entries }: Applied): Promise<boolean> {
    for (const kind of SET_KINDS) {
      const there = await entriesOf(this.#ports.ipset, family, kind);
      const wanted = [...entries.keys()].filter((entry) => entry.startsWith(`${kind} `));
      if (there === undefined || !sameMembers(wanted, there)) return false;
    }
    return true;
  }
}
