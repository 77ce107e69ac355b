// The IPVS mode: the one place of it that touches the kernel.
// Guarantees: servers of others (excluded networks) are left alone; a refused request is told and does not stop the rest.
import { contains, parseCidr } from '../../src/api/ip.js';
import { KernelError } from '../../src/kernel/error.js';
import type { IpSetPort, IpSetRequest } from '../../src/kernel/ipset/port.js';
import type { IptablesPort } from '../../src/kernel/iptables/port.js';
import type { IpvsPort, IpvsRequest } from '../../src/kernel/ipvs/port.js';
import type { RoutePort } from '../../src/kernel/route/port.js';
import type {
  Endpoint,
  IpFamily,
  PerFamily,
  ProxyMode,
  ProxyState,
  TrafficOptions,
} from '../../src/proxy/state.js';
import { syncEach } from '../families.js';
import { missingJumps, removal, serviceChains, wholeTable } from '../iptables/tables.js';
import { entryRequests, hostOf, named, placed, serverOf } from './listing.js';
import { DEVICE, SET_KINDS, SETS, setName } from './names.js';
import { baseRules, OWNED } from './plan/base.js';
import type { ServerKey } from './plan/service.js';
import {
  type Applied,
  advance,
  type Change,
  nothingApplied,
  placeOf,
  serverChange,
  serverName,
} from './transaction.js';

export interface IpvsModeOptions {
  readonly ipvs: IpvsPort;
  readonly ipset: IpSetPort;
  readonly route: RoutePort;
  readonly iptables: PerFamily<IptablesPort>;
  readonly traffic: PerFamily<TrafficOptions>;
  /** rr, lc, dh, sh, sed, nq, ...; rr when left out. */
  readonly scheduler?: string;
  /** Virtual servers in these networks belong to somebody else. */
  readonly excludeCidrs?: readonly string[];
  readonly strictArp?: boolean;
  /** Sets a kernel setting such as net/ipv4/vs/conntrack. */
  setSysctl(name: string, value: string): Promise<void>;
}

/** What IPVS needs of the kernel, as kube-proxy sets it. */
export const SYSCTLS: Readonly<Record<string, string>> = {
  // Masquerading goes by conntrack.
  'net/ipv4/vs/conntrack': '1',
  // A port that comes back is a new connection, and gets a destination that is alive.
  'net/ipv4/vs/conn_reuse_mode': '0',
  'net/ipv4/vs/expire_nodest_conn': '1',
  'net/ipv4/vs/expire_quiescent_template': '1',
  'net/ipv4/ip_forward': '1',
};
const STRICT_ARP: Readonly<Record<string, string>> = {
  'net/ipv4/conf/all/arp_ignore': '1',
  'net/ipv4/conf/all/arp_announce': '2',
};

export function ipvsMode(options: IpvsModeOptions): ProxyMode {
  return new IpvsMode(options);
}

class IpvsMode implements ProxyMode {
  readonly name = 'ipvs';
  readonly #families: readonly IpFamily[];
  readonly #applied = new Map<IpFamily, Applied>();
  readonly #draining = new Map<string, { readonly service: ServerKey; readonly endpoint: Endpoint }>();
  readonly #excluded;
  #nodeIps: readonly string[] = [];
  #isSetUp = false;
  #forgotten = 0;

  constructor(private readonly options: IpvsModeOptions) {
    this.#families = Object.keys(options.iptables) as IpFamily[];
    this.#excluded = (options.excludeCidrs ?? []).flatMap((text) => parseCidr(text) ?? []);
  }

  async sync(state: ProxyState, changed?: ReadonlySet<string>) {
    if (!this.#isSetUp) await this.#setUp();
    const report = await syncEach(this.#families, (family) => this.#syncFamily(family, state, changed));
    await this.#drain();
    return report;
  }

  forget(): void {
    this.#forgotten += 1;
    this.#applied.clear();
    this.#isSetUp = false;
  }

  /** Also the moment to remove destinations that have no connections left. */
  async check(): Promise<boolean> {
    await this.#drain();
    const found = new Map((await this.options.ipvs.list()).flatMap((service) => named(service)));
    for (const { servers } of this.#applied.values())
      for (const [name, { destinations }] of servers) {
        const there = new Set(
          found
            .get(name)
            ?.destinations.filter(({ weight }) => weight > 0)
            .map((to) => `${to.address} ${to.port}`),
        );
        if (
          there.size !== destinations.length ||
          !destinations.every((endpoint) => there.has(placeOf(endpoint)))
        )
          return false;
      }
    const sets = new Map((await this.options.ipset.listHeaders()).map((set) => [set.name, set.numentries]));
    for (const [family, { entries }] of this.#applied)
      for (const kind of SET_KINDS) {
        const wanted = [...entries.keys()].filter((entry) => entry.startsWith(`${kind} `)).length;
        const there = sets.get(setName(family, kind));
        if (!sets.has(setName(family, kind)) || (there !== undefined && there !== wanted)) return false;
      }
    for (const [, port] of Object.entries(this.options.iptables))
      if ((await port.save('nat')).get('nat')?.chains.get('KUBE-SERVICES')?.rules.length === undefined)
        return false;
    return true;
  }

  /** How much there is of each. */
  async stamp(): Promise<string> {
    const { ipvs, ipset, iptables } = this.options;
    const sets = (await ipset.listHeaders()).map(({ name, numentries }) => `${name} ${numentries}`);
    const rules = await Promise.all(Object.values(iptables).map((port) => port.stamp(['nat', 'filter'])));
    return [(await ipvs.listHeaders()).length, ...sets.sort(), ...rules].join();
  }

  watch(onDrift: () => void): () => void {
    const watch = this.options.route.watch(['address', 'link'], (events) => {
      // Addresses of the node are where node ports are; those of our own device are our own doing, unless the device goes.
      const isOther = events.some(
        (event) =>
          event.event === 'lost' ||
          (event.event === 'delete' && event.object.kind === 'link' && event.object.name === DEVICE),
      );
      if (isOther) onDrift();
      else if (events.some((event) => event.event !== 'lost' && event.object.kind === 'address'))
        void this.#addressesMoved(onDrift);
    });
    return () => watch.close();
  }

  async cleanUp(): Promise<void> {
    const { ipvs, ipset, route, iptables } = this.options;
    for (const port of Object.values(iptables)) {
      const lines = removal(OWNED, await port.save());
      if (lines.length > 0) await port.restore(lines);
    }
    const device = await route.link(DEVICE);
    const ours =
      device === undefined
        ? []
        : (await route.addresses({ dev: DEVICE })).map(({ address }) => hostOf(address));
    const local = new Set([...ours, ...(await this.#localIps())]);
    const services = (await ipvs.list()).flatMap(named).filter(([, { address }]) => local.has(address ?? ''));
    await ipvs.apply(
      services.flatMap(([, { protocol, address, port }]): IpvsRequest[] =>
        protocol === undefined || address === undefined || port === undefined || this.#isExcluded(address)
          ? []
          : [{ do: 'delete', kind: 'service', protocol, address, port, missingOk: true }],
      ),
    );
    await route.apply([{ do: 'delete', kind: 'link', name: DEVICE, missingOk: true }]);
    const sets = new Set(
      (['ip', 'ip6'] as const).flatMap((family) => SET_KINDS.map((kind) => setName(family, kind))),
    );
    const there = (await ipset.listHeaders()).filter(({ name }) => sets.has(name));
    await ipset.apply(there.map(({ name }) => ({ do: 'delete', kind: 'set', name, missingOk: true })));
    this.forget();
  }

  close(): void {
    this.options.ipvs.close();
    this.options.ipset.close();
    this.options.route.close();
    for (const port of Object.values(this.options.iptables)) port.close();
  }

  async #setUp(): Promise<void> {
    const { route, strictArp, setSysctl } = this.options;
    // Not every kernel has every one of them, and none is worth a node without services.
    for (const [name, value] of Object.entries({ ...SYSCTLS, ...(strictArp === true ? STRICT_ARP : {}) }))
      await setSysctl(name, value).catch(() => undefined);
    if ((await route.link(DEVICE)) === undefined)
      await route
        .apply([{ do: 'add', kind: 'link', name: DEVICE, type: 'dummy' }])
        .catch(async (error: unknown) => {
          if (!(error instanceof KernelError) || error.code !== 'EOPNOTSUPP') throw error;
          // A bridge without ports is as good: it only has to own addresses.
          await route.apply([{ do: 'add', kind: 'link', name: DEVICE, type: 'bridge' }]);
        });
    this.#nodeIps = await this.#localIps();
    this.#isSetUp = true;
  }

  async #syncFamily(family: IpFamily, state: ProxyState, changed?: ReadonlySet<string>): Promise<number> {
    const before = this.#applied.get(family);
    const start = this.#forgotten;
    const { scheduler = 'rr', traffic } = this.options;
    const plan = { ...traffic[family], scheduler, nodeIps: this.#nodeIps };
    const applied = before ?? nothingApplied();
    const isFirst = before === undefined;
    const change = advance(applied, { family, state, ...(isFirst ? {} : { changed }) }, plan);
    this.#applied.delete(family);
    if (isFirst) await this.#makeSets(family);
    const whole = isFirst ? await this.#againstKernel(family, applied) : change;
    const sent = await this.#apply(family, whole);
    if (isFirst) await this.#writeRules(family);
    // Somebody may have changed it meanwhile: then it stays unknown.
    if (start === this.#forgotten) this.#applied.set(family, applied);
    return sent;
  }

  /** Addresses first, then servers, then the entries that say what happens to their packets. */
  async #apply(family: IpFamily, { ipvs, addresses, entries, draining }: Change): Promise<number> {
    const bits = family === 'ip' ? 32 : 128;
    const on = (verb: 'add' | 'delete') => (address: string) =>
      ({
        do: verb,
        kind: 'address',
        dev: DEVICE,
        address: `${address}/${bits}`,
        ...(verb === 'add' ? { existsOk: true } : { missingOk: true }),
      }) as const;
    await this.options.route.apply(addresses.added.map(on('add')));
    await this.options.ipvs.apply(ipvs);
    const requests = [
      ...entryRequests(family, 'delete', entries.removed),
      ...entryRequests(family, 'add', entries.added),
    ];
    await this.options.ipset.apply(requests);
    await this.options.route.apply(addresses.removed.map(on('delete')));
    for (const entry of draining)
      this.#draining.set(`${serverName(entry.service)} ${placeOf(entry.endpoint)}`, entry);
    return (
      ipvs.length +
      addresses.added.length +
      addresses.removed.length +
      entries.added.length +
      entries.removed.length
    );
  }

  /** The change from what the kernel holds, when nothing is remembered. */
  async #againstKernel(family: IpFamily, { servers, addresses, entries }: Applied): Promise<Change> {
    const { ipvs, ipset, route } = this.options;
    const held = (await route.addresses({ dev: DEVICE, family: family === 'ip' ? 'inet' : 'inet6' }))
      .map(({ address }) => hostOf(address))
      .filter((address) => !address.startsWith('fe80:'));
    const local = new Set([...held, ...this.#nodeIps]);
    const services = (await ipvs.list()).flatMap(named);
    const found = new Map(services.map(([name, service]) => [name, serverOf(service)]));
    // What an earlier process left draining goes on draining here.
    const left = services.flatMap(([, service]) =>
      service.destinations
        .filter(({ weight }) => weight === 0)
        .map((to) => ({ service: serverOf(service).key, endpoint: placed(to) })),
    );
    const ours = [...found].filter(
      ([name, server]) =>
        server.key.address.includes(':') === (family === 'ip6') &&
        !this.#isExcluded(server.key.address) &&
        (servers.has(name) || local.has(server.key.address)),
    );
    const changes = new Set([...ours.map(([name]) => name), ...servers.keys()]);
    const steps = [...changes].map((name) => serverChange(found.get(name), servers.get(name)));
    const listed = await Promise.all(
      SET_KINDS.map(async (kind) => {
        const set = await ipset.get(setName(family, kind));
        return (set?.entries ?? []).map(({ entry }) => `${kind} ${entry}`);
      }),
    );
    const there = new Set(listed.flat());
    const isHeld = new Set(held);
    return {
      ipvs: steps.flatMap(({ requests }) => requests),
      draining: [...left, ...steps.flatMap(({ draining }) => draining)],
      addresses: {
        added: [...addresses.keys()].filter((address) => !isHeld.has(address)),
        removed: held.filter((address) => !addresses.has(address)),
      },
      entries: {
        added: [...entries.keys()].filter((entry) => !there.has(entry)),
        removed: [...there].filter((entry) => !entries.has(entry)),
      },
    };
  }

  async #makeSets(family: IpFamily): Promise<void> {
    const inet = family === 'ip' ? 'inet' : 'inet6';
    await this.options.ipset.apply(
      SET_KINDS.map((kind): IpSetRequest => {
        const [type] = SETS[kind];
        const shape =
          type === 'bitmap:port'
            ? { range: '0-65535' }
            : { family: inet, hashsize: 1024, maxelem: 65_536 * 4 };
        return {
          do: 'add',
          kind: 'set',
          name: setName(family, kind),
          existsOk: true,
          type,
          comment: true,
          ...shape,
        } as IpSetRequest;
      }),
    );
  }

  async #writeRules(family: IpFamily): Promise<void> {
    const port = this.options.iptables[family];
    if (port === undefined) return;
    const found = await port.save();
    const missing = missingJumps(OWNED, found);
    const { filter, nat } = baseRules(family, this.options.traffic[family] ?? {});
    await port.restore([
      ...wholeTable(OWNED, 'filter', { missing, rules: filter }),
      ...wholeTable(OWNED, 'nat', { missing, rules: nat, leftOver: serviceChains(OWNED, found) }),
    ]);
  }

  /** Ends what has drained. One that serves again is no longer draining. */
  async #drain(): Promise<void> {
    for (const [name, { service, endpoint }] of this.#draining) {
      const isBack = [...this.#applied.values()].some(({ servers }) =>
        servers.get(serverName(service))?.destinations.some((other) => placeOf(other) === placeOf(endpoint)),
      );
      const found = isBack ? undefined : await this.options.ipvs.get(service);
      const destination = found?.destinations.find(
        (to) => to.address === endpoint.ip && to.port === endpoint.port,
      );
      if (destination !== undefined && destination.activeConnections + destination.inactiveConnections > 0)
        continue;
      if (destination !== undefined)
        await this.options.ipvs.apply([
          {
            do: 'delete',
            kind: 'destination',
            service,
            address: endpoint.ip,
            port: endpoint.port,
            missingOk: true,
          },
        ]);
      this.#draining.delete(name);
    }
  }

  async #localIps(): Promise<string[]> {
    const device = await this.options.route.link(DEVICE);
    const all = await this.options.route.addresses();
    return all
      .filter(({ dev, address }) => dev !== device?.index && !address.startsWith('fe80:'))
      .map(({ address }) => hostOf(address))
      .sort();
  }

  async #addressesMoved(onDrift: () => void): Promise<void> {
    const now = await this.#localIps();
    if (this.#isSetUp && now.join() !== this.#nodeIps.join()) onDrift();
  }

  #isExcluded(address: string): boolean {
    return this.#excluded.some((cidr) => contains(cidr, address));
  }
}
