// The Service hooks of an apiserver: addresses and node ports are chosen, and claimed in the write of the Service.
// Guarantees: two Services never hold one address or port, also between servers; nothing is given before all that stored Services hold is claimed.
import type { V1Service, V1ServiceCIDR } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import { serviceCidrKind } from '../../api/kinds/networking/serviceAddresses.js';
import type { Client } from '../../client/client.js';
import { makeEventRecorder, referenceTo } from '../../client/eventRecorder.js';
import { ROOT } from '../registry/keys.js';
import type { ServerContext, WriteHooks } from '../serverContext.js';
import { AddressRange } from './addressRange.js';
import { ServiceClaims } from './claims.js';
import { RepairLoop } from './repairLoop.js';
import { ServiceAllocator, type ServiceAllocatorOptions } from './serviceAllocator.js';

export interface ServiceHooksOptions
  extends Pick<ServiceAllocatorOptions, 'serviceCidrs' | 'nodePortRange' | 'random'> {
  /** Trusted: writes Events. */
  readonly client: Client;
}

interface Running {
  readonly server: ServerContext;
  readonly claims: ServiceClaims;
  readonly allocator: ServiceAllocator;
  readonly repairs: RepairLoop;
}

/** For the key `services` of the server's hooks. Throws AllocationError at once when a range is wrong. */
export function makeServiceHooks({ client, ...options }: ServiceHooksOptions): WriteHooks {
  new ServiceAllocator({ ...options, holdings: { hasAddress: () => false, hasPort: () => false } });
  let running: Running | undefined;
  const ready = async (): Promise<Running> => {
    if (running === undefined) throw new Error('the Service hooks were not started');
    await running.repairs.mended();
    return running;
  };
  return {
    start(server) {
      const claims = new ServiceClaims(server);
      const otherNetworks = networksOf(server);
      const allocator = new ServiceAllocator({ ...options, holdings: claims, otherNetworks });
      const recorder = makeEventRecorder(client, {
        component: 'ipallocator-repair-controller',
        log: server.log,
      });
      const repairs = new RepairLoop({
        server,
        allocator,
        claims,
        tell: ({ type, about, reason, message }) =>
          recorder.event(referenceTo(type, about), 'Warning', reason, message),
      });
      running = { server, claims, allocator, repairs };
    },
    stop: () => running?.repairs.stop(),
    async beforeCreate(draft) {
      const { allocator, claims, server } = await ready();
      const service = draft as Draft<V1Service>;
      const release = await knowingly(server, () => allocator.create(service));
      return { writes: claims.changes(undefined, service), release };
    },
    async beforeUpdate(draft, before) {
      const { allocator, claims, server } = await ready();
      const [service, old] = [draft as Draft<V1Service>, before as V1Service];
      const release = await knowingly(server, () => allocator.update(service, old));
      return { writes: claims.changes(old, service), release };
    },
    async beforeDelete(old) {
      const { claims } = await ready();
      return { writes: claims.changes(old as V1Service, undefined) };
    },
  };
}

/** A refusal may come of what the caches have not heard yet, such as a deletion a moment ago: then once more. */
async function knowingly<T>({ feed }: ServerContext, allocate: () => T): Promise<T> {
  try {
    return allocate();
  } catch {
    await feed.current();
    return allocate();
  }
}

/** The networks of the ServiceCIDR objects that may be used; read again only after one has changed. */
function networksOf({ feed }: ServerContext): () => readonly AddressRange[] {
  const cache = feed.cacheOf(serviceCidrKind as KindDefinition);
  let seen = -1;
  let networks: readonly AddressRange[] = [];
  return () => {
    if (seen === cache.lastChange) return networks;
    seen = cache.lastChange;
    const objects = [...cache.range(ROOT)].map((object) => object.parse<V1ServiceCIDR>());
    networks = objects
      .filter(isUsable)
      .flatMap(({ spec }) => (spec?.cidrs ?? []).map((one) => new AddressRange(one)));
    return networks;
  };
}

function isUsable({ metadata, status }: V1ServiceCIDR): boolean {
  const isReady = (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');
  return isReady && metadata?.deletionTimestamp === undefined;
}
