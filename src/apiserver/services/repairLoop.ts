// Brings the claims of addresses and node ports to what the stored Services hold: at the start, and now and then.
// Guarantees: one round at a time; what another server mended meanwhile is left alone.
import type { V1IPAddress, V1Service } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { ipAddressKind } from '../../api/kinds/networking/serviceAddresses.js';
import { serviceKind } from '../../api/kinds/service.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { IP_ADDRESSES, SERVICES } from '../../api/resources.js';
import { messageOf } from '../../base/errorMessage.js';
import { StoreError } from '../../store/store.js';
import type { CachedObject } from '../registry/cached.js';
import { objectKey, ROOT } from '../registry/keys.js';
import type { ServerContext } from '../serverContext.js';
import { parentOf, type ServiceClaims } from './claims.js';
import { eventOf, planRepair, type Repair, type RepairEvent } from './repair.js';
import type { ServiceAllocator } from './serviceAllocator.js';
import { addressesOf } from './serviceFields.js';

/** As kube-apiserver. */
const PERIOD_MS = 180_000;
/** An address whose object was deleted by hand is claimed again so soon. */
const NOTICE_MS = 1_000;
/** Shares a commit, and bounds how much is under way. */
const AT_ONCE = 500;
const IN_A_TURN = 200;

/** Tells a Warning event about an object; never waits and never throws. */
type Tell = (event: RepairEvent) => void;

interface RepairLoopOptions {
  readonly server: ServerContext;
  readonly allocator: ServiceAllocator;
  readonly claims: ServiceClaims;
  readonly tell: Tell;
}

export class RepairLoop {
  readonly #options: RepairLoopOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #deleted = new Set<CachedObject>();
  readonly #stopListening: () => void;
  #notice: NodeJS.Timeout | undefined;
  #first: Promise<void> | undefined;

  constructor(options: RepairLoopOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#again(), PERIOD_MS).unref();
    this.#stopListening = options.server.feed.cacheOf(ipAddressKind).listen({
      onChange: ({ deleted, object }) => deleted && this.#notify(object),
      onReset: () => {},
    });
  }

  /** Resolves when one round was made; fails when it could not be, and the next call tries again. */
  mended(): Promise<void> {
    if (this.#first !== undefined) return this.#first;
    this.#first = this.#round();
    this.#first.catch(() => {
      this.#first = undefined;
    });
    return this.#first;
  }

  stop(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#notice);
    this.#stopListening();
  }

  /** Most addresses go with their Service, which this hears of a moment later. */
  #notify(object: CachedObject): void {
    this.#deleted.add(object);
    this.#notice ??= setTimeout(() => {
      this.#notice = undefined;
      const suspects = [...this.#deleted];
      this.#deleted.clear();
      if (suspects.some((one) => this.#isMissed(one))) void this.#again();
    }, NOTICE_MS).unref();
  }

  #isMissed(object: CachedObject): boolean {
    const { feed } = this.#options.server;
    if (feed.cacheOf(ipAddressKind).get(object.key) !== undefined) return false;
    const address = object.parse<Stored<V1IPAddress>>();
    const [namespace = '', name = ''] = (parentOf(address) ?? '').split('/');
    const service = feed.cacheOf(serviceKind as KindDefinition).get(objectKey(SERVICES, namespace, name));
    return service !== undefined && addressesOf(service.parse<V1Service>()).includes(address.metadata.name);
  }

  async #again(): Promise<void> {
    try {
      await this.#first;
      await this.#round();
    } catch (error) {
      this.#options.server.log.warn('the addresses of Services could not be looked through', {
        error: messageOf(error),
      });
    }
  }

  async #round(): Promise<void> {
    const { server, allocator } = this.#options;
    const { feed } = server;
    await feed.current();
    // Taken in one turn, so that all is of one moment; versions never change, and are read with pauses.
    const held = (kind: KindDefinition) => [...feed.cacheOf(kind).range(ROOT)];
    const services = held(serviceKind as KindDefinition);
    const addresses = held(ipAddressKind as KindDefinition);
    const ports = new Map(
      [...feed.nodePortClaims].map(([key, claim]) => [Number(key.split('/').at(-1)), claim]),
    );
    const networks = allocator.networks();
    const repairs = planRepair({
      services: await readInTurns<V1Service>(services, leanService),
      addresses: await readInTurns<V1IPAddress>(addresses, (object) => object),
      ports,
      hasNetwork: (address) => networks.some((network) => network.has(address)),
      isInRange: (port) => allocator.ports.has(port),
      now: server.now(),
    });
    for (let at = 0; at < repairs.length; at += AT_ONCE)
      await Promise.all(repairs.slice(at, at + AT_ONCE).map((repair) => this.#carryOut(repair)));
    if (repairs.length > 0) await feed.current();
  }

  async #carryOut(repair: Repair): Promise<void> {
    const { server, tell } = this.#options;
    const event = eventOf(repair);
    if (event !== undefined) tell(event);
    else server.log.warn('a node port was claimed by a Service that does not hold it', { ...repair });
    try {
      await this.#write(repair);
    } catch (error) {
      // Another server was faster, or a person: the next round looks again.
      if (!(error instanceof StoreError) || !['EXISTS', 'MISSING', 'CONFLICT'].includes(error.code))
        throw error;
    }
  }

  async #write(repair: Repair): Promise<void> {
    const { claims, server } = this.#options;
    const { store } = server;
    switch (repair.what) {
      case 'claimAddress': {
        const { key, value } = claims.addressClaim(repair.address, repair.service);
        await store.create(key, value);
        return;
      }
      case 'replaceAddress': {
        const { name, resourceVersion } = repair.object.metadata;
        const { key, value } = claims.addressClaim(name, repair.service);
        await store.update(key, value, Number(resourceVersion));
        return;
      }
      case 'freeAddress': {
        const { name, resourceVersion } = repair.object.metadata;
        await store.delete(objectKey(IP_ADDRESSES, '', name), Number(resourceVersion));
        return;
      }
      case 'claimPort': {
        const { key, value } = claims.portClaim(repair.port, repair.service);
        await store.create(key, value);
        return;
      }
      case 'replacePort': {
        const { key, value } = claims.portClaim(repair.port, repair.service);
        await store.update(key, value, repair.claim.revision);
        return;
      }
      case 'freePort':
        await store.delete(repair.claim.key, repair.claim.revision);
    }
  }
}

/** Others are served in between: there may be very many. */
async function readInTurns<T extends KubeObject>(
  objects: readonly CachedObject[],
  lean: (object: Stored<T>) => Stored<T>,
): Promise<Stored<T>[]> {
  const read: Stored<T>[] = [];
  for (const object of objects) {
    read.push(lean(object.parse<Stored<T>>()));
    if (read.length % IN_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return read;
}

/** Without what is not looked at: managed fields alone would be most of it. */
function leanService({ metadata, spec, status }: Stored<V1Service>): Stored<V1Service> {
  const { managedFields: _, annotations: __, labels: ___, ...meta } = metadata;
  return { metadata: meta, spec, status };
}
