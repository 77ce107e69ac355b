// The IPVS mode: the one place of it that touches the kernel.
// Guarantees: servers of others (excluded networks) are left alone; a refused request does not stop the rest; a port
// whose server, address or set entry is refused is left out and told, unless all are; sync, check and clean-up run one after the
// other; nothing is removed where nothing tells of this mode.
import os from 'node:os';
import { parseCidr } from '../../src/api/ip.js';
import { KernelError } from '../../src/kernel/error.js';
import type { IpSetPort } from '../../src/kernel/ipset/port.js';
import type { IptablesPort, Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpvsPort, IpvsTimeouts } from '../../src/kernel/ipvs/port.js';
import type { RoutePort } from '../../src/kernel/route/port.js';
import { syncEach } from '../families.js';
import { FamilyRecords } from '../familyRecords.js';
import { missingJumps, removal, serviceChains, wholeTable } from '../iptables/tables.js';
import type { IpFamily, PerFamily, ProxyMode, ProxyState, SyncReport, TrafficOptions } from '../mode.js';
import { Drains } from './drains.js';
import { changeFrom, oursAmong } from './found.js';
import { printed } from './intact.js';
import { KernelView } from './kernelView.js';
import { entryRequests, hostOf, serverOf } from './listing.js';
import { DEVICE, formerSetName, newSetName, SET_KINDS, setName } from './names.js';
import { baseRules, OWNED } from './plan/base.js';
import { blameAddresses, blameEntries, blameServers, Refusals } from './refusals.js';
import { makeSets } from './sets.js';
import { ipvsSysctls } from './sysctls.js';
import { type Applied, advance, type Change, nothingApplied } from './transaction.js';

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
  /** Seconds that idle connections are remembered; those that are left out or 0 stay the kernel's. */
  readonly timeouts?: Partial<IpvsTimeouts>;
  /** Sets a kernel setting such as net/ipv4/vs/conntrack. */
  setSysctl(name: string, value: string): Promise<void>;
}

export class IpvsMode implements ProxyMode {
  readonly #options: IpvsModeOptions;

  readonly name = 'ipvs';
  readonly #families: readonly IpFamily[];
  readonly #records: FamilyRecords<Applied>;
  /** Our chains as they were printed after they had been written. */
  readonly #printed = new Map<IpFamily, string | undefined>();
  readonly #drains = new Drains();
  readonly #view: KernelView;
  #localIps: readonly string[] = [];
  /** The index of our device. */
  #device: number | undefined;
  #isSetUp = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: IpvsModeOptions) {
    this.#options = options;
    this.#records = new FamilyRecords(options.traffic);
    this.#families = Object.keys(options.iptables) as IpFamily[];
    const excluded = (options.excludeCidrs ?? []).flatMap((text) => parseCidr(text) ?? []);
    this.#view = new KernelView(options, excluded);
  }

  sync(state: ProxyState, changed?: ReadonlySet<string>) {
    return this.#inTurn(async () => {
      if (!this.#isSetUp) await this.#setUp();
      const report = await syncEach(this.#families, (family) => this.#syncFamily(family, state, changed));
      await this.#drains.finish(this.#options.ipvs);
      return report;
    });
  }

  setServiceCidrs(cidrs: readonly string[]): void {
    this.#records.setServiceCidrs(cidrs);
    this.#isSetUp = false;
  }

  forget(): void {
    this.#records.forget();
    this.#isSetUp = false;
  }

  /** Also the moment to remove destinations that have no connections left. */
  check(): Promise<boolean> {
    return this.#inTurn(async () => {
      await this.#drains.finish(this.#options.ipvs);
      const listed = await this.#options.ipvs.list();
      for (const [family, applied] of this.#records.known()) {
        if (!(await this.#view.hasServers(applied, listed))) return false;
        if (!(await this.#view.hasAddresses(family, applied))) return false;
        if (!(await this.#view.hasEntries(family, applied))) return false;
        if (!(await this.#rulesIntact(family))) return false;
      }
      return true;
    });
  }

  /** How much there is of each. */
  async stamp(): Promise<string> {
    const { ipvs, ipset, iptables } = this.#options;
    const sets = (await ipset.listHeaders()).map(({ name, numentries }) => `${name} ${numentries}`);
    const rules = await Promise.all(
      Object.values(iptables).map((port) => port.stamp(['nat', 'filter', 'mangle'])),
    );
    return [(await ipvs.listHeaders()).length, ...sets.sort(), ...rules].join();
  }

  watch(onDrift: () => void): () => void {
    const watch = this.#options.route.watch(['address', 'link'], (events) => {
      const moved: { readonly address: string; readonly isHeld: boolean; readonly isGone: boolean }[] = [];
      for (const event of events) {
        if (event.event === 'lost') return onDrift();
        const { object } = event;
        const isGone = event.event === 'delete';
        if (object.kind === 'link' && object.name === DEVICE && isGone) return onDrift();
        if (object.kind === 'address')
          moved.push({ address: hostOf(object.address), isHeld: object.dev === this.#device, isGone });
      }
      const isForeign = moved.some(({ isHeld }) => !isHeld);
      const gone = moved.filter(({ isHeld, isGone }) => isHeld && isGone).map(({ address }) => address);
      if (!isForeign && gone.length === 0) return;
      this.#addressesMoved({ isForeign, gone }).then(
        (isMoved) => isMoved && onDrift(),
        () => onDrift(),
      );
    });
    return () => watch.close();
  }

  cleanUp(): Promise<void> {
    return this.#inTurn(async () => {
      const { ipvs, ipset, route, iptables } = this.#options;
      for (const port of Object.values(iptables)) {
        const lines = removal(OWNED, await port.save());
        if (lines.length > 0) await port.restore(lines);
      }
      const names = new Set(
        (['ip', 'ip6'] as const).flatMap((family) => [
          ...SET_KINDS.map((kind) => setName(family, kind)),
          newSetName(family),
          formerSetName(family),
        ]),
      );
      const sets = (await ipset.listHeaders()).filter(({ name }) => names.has(name));
      // Without the device and without sets this mode was never here, and the servers are a director's.
      if (sets.length === 0 && (await route.link(DEVICE)) === undefined) return;
      this.#localIps = await this.#view.localIps();
      for (const family of ['ip', 'ip6'] as const) {
        const ours = oursAmong(await this.#view.find(family, this.#localIps)).map(
          ([, service]) => serverOf(service).key,
        );
        await ipvs.apply(ours.map((key) => ({ do: 'delete', kind: 'service', ...key, missingOk: true })));
      }
      await route.apply([{ do: 'delete', kind: 'link', name: DEVICE, missingOk: true }]);
      await ipset.apply(sets.map(({ name }) => ({ do: 'delete', kind: 'set', name, missingOk: true })));
      this.forget();
    });
  }

  close(): void {
    this.#options.ipvs.close();
    this.#options.ipset.close();
    this.#options.route.close();
    for (const port of Object.values(this.#options.iptables)) port.close();
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #setUp(): Promise<void> {
    const { ipvs, route, strictArp = false, timeouts = {}, setSysctl } = this.#options;
    // Not every kernel has every one of them, and none is worth a node without services.
    for (const [name, value] of Object.entries(ipvsSysctls({ release: os.release(), strictArp })))
      await setSysctl(name, value).catch(() => undefined);
    if (Object.values(timeouts).some((seconds) => seconds > 0))
      await ipvs.apply([{ do: 'change', kind: 'timeouts', ...timeouts }]);
    // Renamed by somebody, it would hold service addresses as if they were the node's.
    const renamed = (await route.links()).find(
      ({ index, name }) => index === this.#device && name !== DEVICE,
    );
    if (renamed !== undefined) await route.apply([{ do: 'delete', kind: 'link', name: renamed.name }]);
    if ((await route.link(DEVICE)) === undefined)
      await route
        .apply([{ do: 'add', kind: 'link', name: DEVICE, type: 'dummy' }])
        .catch(async (error: unknown) => {
          if (!(error instanceof KernelError) || error.code !== 'EOPNOTSUPP') throw error;
          // A bridge without ports is as good: it only has to own addresses.
          await route.apply([{ do: 'add', kind: 'link', name: DEVICE, type: 'bridge' }]);
        });
    this.#device = (await route.link(DEVICE))?.index;
    this.#localIps = await this.#view.localIps();
    this.#isSetUp = true;
  }

  /** Everything anew without those that were refused, until nothing more is. */
  async #syncFamily(family: IpFamily, state: ProxyState, changed?: ReadonlySet<string>): Promise<SyncReport> {
    const failed = new Map<string, unknown>();
    let { sent, culprits } = await this.#syncOnce(family, state, changed);
    while (culprits.size > 0) {
      for (const [key, error] of culprits) failed.set(key, error);
      const rest = new Map([...state].filter(([key]) => !failed.has(key)));
      ({ sent, culprits } = await this.#syncOnce(family, rest));
    }
    return { sent, failed };
  }

  async #syncOnce(family: IpFamily, state: ProxyState, changed?: ReadonlySet<string>) {
    const before = this.#records.get(family);
    const { scheduler = 'rr' } = this.#options;
    const plan = { ...this.#records.traffic(family), scheduler, localIps: this.#localIps };
    const applied = before ?? nothingApplied();
    const isFirst = before === undefined;
    const change = advance(applied, { family, state, ...(isFirst ? {} : { changed }) }, plan);
    const remember = this.#records.write(family);
    const refusals = new Refusals(applied);
    if (isFirst) await refusals.take(makeSets(this.#options.ipset, family, applied.entries));
    const whole = isFirst ? changeFrom(await this.#view.find(family, this.#localIps), applied) : change;
    await this.#apply(family, whole, refusals);
    if (isFirst) await refusals.take(this.#writeRules(family));
    const culprits = refusals.culprits();
    if (culprits.size === 0) remember(applied);
    return { sent: sizeOf(whole), culprits };
  }

  /** Addresses first, then servers, then the entries that say what happens to their packets. */
  async #apply(family: IpFamily, change: Change, refusals: Refusals): Promise<void> {
    const { ipvs, addresses, entries, draining } = change;
    const bits = family === 'ip' ? 32 : 128;
    const on = (verb: 'add' | 'delete') => (address: string) =>
      ({
        do: verb,
        kind: 'address',
        dev: DEVICE,
        address: `${address}/${bits}`,
        ...(verb === 'add' ? { existsOk: true } : { missingOk: true }),
      }) as const;
    await refusals.take(
      this.#options.route.apply(addresses.added.map(on('add'))),
      blameAddresses(addresses.added),
    );
    await refusals.take(this.#options.ipvs.apply(ipvs), blameServers(ipvs));
    const requests = [
      ...entryRequests(family, 'delete', entries.removed),
      ...entryRequests(family, 'add', entries.added),
    ];
    await refusals.take(this.#options.ipset.apply(requests), blameEntries(family, requests));
    await refusals.take(this.#options.route.apply(addresses.removed.map(on('delete'))));
    for (const drain of draining) this.#drains.add(drain);
  }

  async #rulesIntact(family: IpFamily): Promise<boolean> {
    const port = this.#options.iptables[family];
    const now = port === undefined ? undefined : printed(await port.save());
    return port === undefined || (now !== undefined && now === this.#printed.get(family));
  }

  async #writeRules(family: IpFamily): Promise<void> {
    const port = this.#options.iptables[family];
    if (port === undefined) return;
    const found = await port.save();
    const rules = baseRules(family, this.#records.traffic(family));
    await port.restore(wholeTables(rules, found));
    this.#printed.set(family, printed(await port.save()));
  }

  /** Whether the node has other addresses than before, or our device has lost one that it should have. */
  #addressesMoved({ isForeign, gone }: { isForeign: boolean; gone: readonly string[] }): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#isSetUp) return false;
      if (isForeign && (await this.#view.localIps()).join() !== this.#localIps.join()) return true;
      for (const [family, applied] of this.#records.known())
        if (gone.some((address) => applied.addresses.has(address)))
          if (!(await this.#view.hasAddresses(family, applied))) return true;
      return false;
    });
  }
}

function wholeTables(rules: ReturnType<typeof baseRules>, found: Ruleset): string[] {
  const missing = missingJumps(OWNED, found);
  return [
    ...wholeTable(OWNED, 'filter', { missing, rules: rules.filter }),
    ...wholeTable(OWNED, 'mangle', { missing, rules: rules.mangle }),
    ...wholeTable(OWNED, 'nat', { missing, rules: rules.nat, leftOver: serviceChains(OWNED, found) }),
  ];
}

const sizeOf = ({ ipvs, addresses, entries }: Change) =>
  ipvs.length +
  addresses.added.length +
  addresses.removed.length +
  entries.added.length +
  entries.removed.length;
