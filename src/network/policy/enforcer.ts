// Enforces network policies on this node: objects in, one table per family in the kernel.
// Guarantees: each sync is one transaction; until the first, and for addresses that are not judged yet, this node's pods
// neither send nor receive; what a former process wrote stays in force until then; ending it leaves the tables; a
// connection that a change forbids is ended after the change is in place.
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '../../api/gen/types.js';
import { canonicalIp, contains, parseCidr } from '../../api/ip.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { makeSyncRunner, type SyncRunner } from '../../base/syncRunner.js';
import type { Informers } from '../../client/informer.js';
import type { NetNs } from '../../kernel/addon.js';
import type { ConntrackPort } from '../../kernel/conntrack/port.js';
import type { NftEvent, NftPort, NftRequest } from '../../kernel/nftables/port.js';
import { watchTraces } from '../../kernel/nftables/trace.js';
import type { RoutePort } from '../../kernel/route/port.js';
import type { Watch } from '../../kernel/watch.js';
import { EndedFlows } from './endedFlows.js';
import { filterOf, flowsOf, forbiddenFlows } from './flows.js';
import { policyMetrics } from './metrics.js';
import * as names from './names.js';
import { PolicyPlanner } from './planner.js';
import { PodLinks } from './podLinks.js';
import { PolicyObjects } from './policyObjects.js';
import { RefusalLog } from './refusals.js';
import { FAMILIES } from './table.js';
import { PolicyTracer } from './tracer.js';

export interface EnforcerOptions {
  readonly nodeName: string;
  readonly nft: NftPort;
  readonly route: RoutePort;
  /** Without it, connections that a new policy forbids live on. */
  readonly conntrack: ConntrackPort | undefined;
  readonly table: string;
  /** The log is told of connections that are refused. */
  readonly logsRefused?: boolean | undefined;
  /** How often it is looked whether the tables are as they were written; what others do to them is heard at once. */
  readonly checkEveryMs?: number;
  /** The network namespace that the ports are of, when it is not our own. */
  readonly netns?: NetNs;
  readonly log: Log;
}

const RETRY = { firstMs: 100, longestMs: 10_000 };
const CHECK_MS = 30_000;
const EXPIRE_MS = 10_000;
/** Changes by others that come together are looked at together. */
const SETTLE_MS = 50;
/** How long a pod's containers wait for their rules; later they start, and reach nobody until the rules are there. */
const ATTACH_MS = 5_000;

export class PolicyEnforcer {
  readonly planner: PolicyPlanner;
  readonly tracer: PolicyTracer;
  readonly #options: EnforcerOptions;
  readonly #runner: SyncRunner;
  readonly #links: PodLinks;
  #objects: PolicyObjects | undefined;
  #podRanges: readonly string[] = [];
  #isKnown = false;
  #isReady = false;
  #checks: NodeJS.Timeout | undefined;
  #changes: Watch;
  readonly #ended: EndedFlows;
  #expiry: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  /** Whether the events of the change that is being told are about our tables. */
  #isTouched = false;
  readonly #traces: Watch | undefined;
  readonly #waiting = new Set<{ readonly ips: readonly string[]; resolve(): void }>();

  constructor(options: EnforcerOptions) {
    this.#options = options;
    const { table, logsRefused = false } = options;
    this.planner = new PolicyPlanner(table, { tracesRefused: logsRefused });
    this.#ended = new EndedFlows({ images: () => this.planner.images, now: () => performance.now() });
    if (logsRefused) this.#traces = this.#logRefused();
    const images = async () => {
      if (this.#objects === undefined) throw new Error('the network policies of this node are not known yet');
      await this.synced();
      return this.planner.images;
    };
    this.tracer = new PolicyTracer({ table, images, netns: options.netns });
    this.#changes = this.#listen();
    this.#links = new PodLinks({
      route: options.route,
      log: options.log,
      networks: () => this.#ownNetworks(),
      onChange: (links) => {
        this.planner.setPodLinks(links);
        this.#changed();
      },
    });
    this.#runner = makeSyncRunner({
      minPeriodMs: 0,
      retry: RETRY,
      sync: () => this.#sync(),
      failed: (error, delayMs) =>
        options.log.error('the rules of network policies could not be written; trying again', {
          error,
          delayMs,
        }),
    });
  }

  /**
   * The networks of which this node gives its pods addresses. Resolves when their pods are closed, or under the rules of a
   * former process, or judged.
   */
  async setPodRanges(cidrs: readonly string[]): Promise<void> {
    const { nft, table } = this.#options;
    this.#podRanges = cidrs;
    this.planner.setPodRanges(cidrs);
    await this.#links.look();
    if (this.#isReady) await this.#judged([]);
    else if ((await nft.tables({ name: table })).length === 0) await nft.commit(this.#whole());
  }

  /** From here on the objects of the API are followed. */
  follow(informers: Informers): void {
    const { nodeName, log } = this.#options;
    const objects = new PolicyObjects({
      nodeName,
      log,
      informers,
      planner: this.planner,
      onChange: () => this.#changed(),
    });
    this.#objects = objects;
    void objects.synced().then(() => {
      this.#isReady = true;
      this.#changed();
    });
    this.#checks = setInterval(() => void this.#check(), this.#options.checkEveryMs ?? CHECK_MS);
    this.#checks.unref();
  }

  /** Resolves when the kernel has everything that is known now. */
  async synced(): Promise<void> {
    await this.#objects?.synced();
    await this.#judged([]);
  }

  /** The node gave a pod these addresses: resolves when its policies are in place, or after a while without them. */
  async attach(pod: Stored<V1Pod>, addresses: readonly string[]): Promise<void> {
    if (this.#objects === undefined || pod.spec?.hostNetwork === true) return;
    const ips = addresses.flatMap((ip) => canonicalIp(ip) ?? []);
    this.#objects.attach(pod, ips);
    const limit = new AbortController();
    const late = sleep(ATTACH_MS, 'late', { signal: limit.signal }).catch(() => 'late');
    const outcome = await Promise.race([this.#judged(ips), late]);
    limit.abort();
    if (outcome === 'late')
      this.#options.log.warn(
        'a pod starts before its network policies are known; it reaches nobody until then',
        {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
        },
      );
  }

  /** What was allowed and refused since the tables were written, as Prometheus reads it. */
  metrics(): Promise<string> {
    return policyMetrics(this.#options.nft, this.#options.table, this.planner.images);
  }

  async stop(): Promise<void> {
    clearInterval(this.#checks);
    clearInterval(this.#expiry);
    this.#traces?.close();
    this.tracer.close();
    this.#links.close();
    this.#objects?.stop();
    await this.#runner.stop();
    // The last sync may have begun to listen again.
    this.#changes.close();
    clearTimeout(this.#soon);
  }

  #logRefused(): Watch {
    const { log, table, netns } = this.#options;
    const refusals = new RefusalLog({ log, planner: this.planner, now: () => performance.now() });
    return watchTraces(table, (events) => refusals.heard(events), netns);
  }

  #changed(): void {
    if (this.#isReady) this.#runner.request();
  }

  /** After a sync in which these addresses were judged. */
  #judged(ips: readonly string[]): Promise<'judged'> {
    return new Promise((resolve) => {
      this.#waiting.add({ ips, resolve: () => resolve('judged') });
      this.#changed();
    });
  }

  #whole(): NftRequest[] {
    return FAMILIES.flatMap((family) => this.planner.images[family].whole());
  }

  /** Writes what has changed. What changes from here on is for the next sync. A failed one leaves the kernel unknown. */
  async #commit(): Promise<void> {
    const { images } = this.planner;
    const isWhole = !this.#isKnown;
    const requests = isWhole ? this.#whole() : FAMILIES.flatMap((family) => images[family].changes());
    for (const family of FAMILIES) images[family].committed();
    this.#isKnown = false;
    if (requests.length > 0)
      await (isWhole ? this.#commitUnheard(requests) : this.#options.nft.commit(requests));
    this.#isKnown = true;
  }

  /** The kernel would tell each rule back. Whether somebody else changed anything meanwhile is seen by its count of changes. */
  async #commitUnheard(requests: readonly NftRequest[]): Promise<void> {
    const { nft } = this.#options;
    this.#changes.close();
    this.#isTouched = false;
    const before = await nft.generation();
    try {
      await nft.commit(requests);
    } finally {
      this.#changes = this.#listen();
    }
    if ((await nft.generation()) !== before + 1) this.#checkSoon();
  }

  #listen(): Watch {
    return this.#options.nft.watch((events) => {
      for (const event of events) this.#heard(event);
    });
  }

  async #sync(): Promise<void> {
    const { images } = this.planner;
    const mayForbid = this.planner.mayForbid;
    const judged = [...this.#waiting].filter(({ ips }) =>
      ips.every((ip) => images[ip.includes(':') ? 'ip6' : 'ip'].has(names.JUDGED, ip)),
    );
    await this.#commit();
    for (const waiting of judged) {
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
    if (mayForbid) await this.#cut();
    // Where the node has no networks of its own for pods, the pods themselves show which links are theirs.
    if (this.#podRanges.length === 0) void this.#links.look();
  }

  /** Ends connections that the rules no longer allow: packets of established ones are not judged. */
  async #cut(): Promise<void> {
    const { conntrack, route } = this.#options;
    this.planner.mayForbid = false;
    const ours = this.#ownNetworks();
    if (conntrack === undefined || ours.length === 0) return;
    try {
      const [flows, addresses] = await Promise.all([conntrack.list(flowsOf(ours)), route.addresses()]);
      const own = new Set(addresses.flatMap(({ address }) => canonicalIp(address.split('/')[0] ?? '') ?? []));
      const forbidden = forbiddenFlows(flows, this.planner, (ip) => own.has(ip));
      if (forbidden.length === 0) return;
      // In the kernel first: an answer that is under way would else begin anew what ends here.
      if (this.#ended.hold(forbidden)) {
        await this.#commit();
        this.#expiry ??= setInterval(() => this.#expire(), EXPIRE_MS).unref();
      }
      await conntrack.delete(forbidden.map(filterOf));
    } catch (error) {
      this.planner.mayForbid = true;
      throw error;
    }
  }

  #expire(): void {
    if (this.#ended.expire()) this.#changed();
    if (this.#ended.size > 0) return;
    clearInterval(this.#expiry);
    this.#expiry = undefined;
  }

  /** The pod ranges, and the addresses of pods here that others gave from elsewhere. */
  #ownNetworks(): string[] {
    const ranges = this.#podRanges.flatMap((text) => parseCidr(text) ?? []);
    const judged = FAMILIES.flatMap((family) => this.planner.images[family].keysOf(names.JUDGED));
    return [...this.#podRanges, ...judged.filter((ip) => !ranges.some((range) => contains(range, ip)))];
  }

  /** A firewall of the host that is started anew may take every table with it. */
  #heard(event: NftEvent): void {
    if (event.event === 'lost') this.#checkSoon();
    else if (event.event === 'generation') {
      // The kernel tells at the end of a change whose it was.
      if (this.#isTouched && event.pid !== process.pid) this.#checkSoon();
      this.#isTouched = false;
    } else {
      const { object } = event;
      if ((object.kind === 'table' ? object.name : object.table) === this.#options.table)
        this.#isTouched = true;
    }
  }

  #checkSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#check();
    }, SETTLE_MS);
  }

  /** Puts back what others removed or added. */
  async #check(): Promise<void> {
    await this.#links.look();
    if (!this.#isKnown) return;
    try {
      for (const family of FAMILIES)
        if (!(await this.#isIntact(family))) {
          this.#options.log.warn('somebody changed the rules of network policies; writing them anew', {
            family,
          });
          this.#isKnown = false;
          this.#runner.request();
        }
    } catch (error) {
      this.#options.log.warn('the rules of network policies could not be read', { error });
    }
  }

  async #isIntact(family: (typeof FAMILIES)[number]): Promise<boolean> {
    const { nft, table } = this.#options;
    const image = this.planner.images[family];
    const before = image.version;
    const chains = await nft.chains({ family, table });
    if (!image.isNeeded) return chains.length === 0 || image.version !== before;
    const rules = await nft.rules({ family, table });
    const sizes = new Map<string, number>();
    for (const { set } of image.contents())
      sizes.set(set, (await nft.elements({ family, table, set }).catch(() => [])).length);
    // Something of our own was written meanwhile: the next look tells.
    if (image.version !== before || !this.#isKnown) return true;
    const names = image.chainNames();
    const ruleCount = names.reduce((sum, name) => sum + image.rulesOf(name).length, 0);
    return (
      chains.length === names.length &&
      rules.length === ruleCount &&
      [...image.contents()].every(({ set, elements }) => sizes.get(set) === elements.size)
    );
  }
}

/** Removes the tables. */
export const removePolicies = (nft: NftPort, table: string): Promise<void> =>
  nft.commit(FAMILIES.map((family): NftRequest => ({ do: 'destroy', kind: 'table', family, name: table })));
