// ResourceQuota: no write takes a namespace beyond what its quotas allow.
// Guarantees: usage is reserved before the object is written, and given back when the write is refused.
import type { V1Pod } from '../../../api/gen/types.js';
import type { KindDefinition } from '../../../api/kind.js';
import type { KubeObject } from '../../../api/object.js';
import { limitedPart } from '../../../api/quota/decide.js';
import { isInScope, missingDemands } from '../../../api/quota/scopes.js';
import { countedTypes, usedBy } from '../../../api/quota/total.js';
import { growth, usageOf } from '../../../api/quota/usage.js';
import { PODS, RESOURCE_QUOTAS } from '../../../api/resources.js';
import { ApiError, forbidden } from '../../../api/status.js';
import type { Client } from '../../../client/client.js';
import type { AdmissionPlugin, AdmissionRequest } from '../../admission.js';
import type { AdmissionLookups } from '../lookups.js';
import { isAbout } from '../requests.js';
import { QUOTA_MANAGER } from './recounts.js';
import { makeReservations, type NeedOf, type Quota, type QuotaAccess } from './reservations.js';

/** What an update of these may use more of; every other kind is only counted. */
const GROWING = new Set(['pods', 'services', 'persistentvolumeclaims']);

export function makeResourceQuota(options: {
  readonly client: Client;
  readonly lookups: Pick<AdmissionLookups, 'resourceQuotas'>;
  readonly kinds: readonly KindDefinition[];
}): AdmissionPlugin {
  const { lookups } = options;
  const reservations = makeReservations(makeBook(options));
  return {
    name: 'ResourceQuota',
    async reserve(request) {
      if (!concerns(request)) return undefined;
      const { namespace, type, name, dryRun } = request;
      const known = lookups.resourceQuotas(namespace);
      if (known.length === 0) return undefined;
      const need = needOf(request);
      // Most writes concern no quota of the namespace at all: they wait for nobody.
      if (!known.some((quota) => isNeeded(need, quota))) return undefined;
      const refuse = (why: string) => forbidden(type, name, why);
      if (!dryRun) return reservations.reserve(namespace, need, refuse);
      await reservations.check(namespace, need, refuse);
      return undefined;
    },
  };
}

function concerns({ operation, subresource, namespace, type }: AdmissionRequest): boolean {
  if (namespace === '') return false;
  const isCore = (resource: string) => type.group === '' && type.resource === resource;
  // Of the subresources a resize takes more than before, and a claim's status may say that its volume has another class.
  if (subresource === 'status') return operation === 'update' && isCore('persistentvolumeclaims');
  if (!['', 'resize'].includes(subresource)) return false;
  return operation === 'create' || (operation === 'update' && [...GROWING].some(isCore));
}

/** A need that cannot be told is one: the refusal comes from the newest version of the quota. */
function isNeeded(need: NeedOf, quota: Quota): boolean {
  try {
    return Object.keys(need(quota)).length > 0;
  } catch (error) {
    if (error instanceof ApiError) return true;
    throw error;
  }
}

function needOf(request: AdmissionRequest): NeedOf {
  const { type, object, old, name } = request;
  const wanted = usageOf(type, object as KubeObject);
  const before = old === undefined ? {} : usageOf(type, old);
  return (quota) => {
    const spec = quota.spec ?? {};
    if (!isInScope(spec, type, object as KubeObject)) return {};
    if (isAbout(request, PODS) && request.operation === 'create') {
      const missing = missingDemands(spec, object as V1Pod);
      if (missing.length > 0)
        throw forbidden(
          type,
          name,
          `failed quota: ${quota.metadata.name}: must specify ${missing.join('; ')}`,
        );
    }
    const held = old !== undefined && isInScope(spec, type, old) ? before : {};
    return limitedPart(quota, growth(wanted, held));
  };
}

function makeBook({
  client,
  kinds,
}: {
  readonly client: Client;
  readonly kinds: readonly KindDefinition[];
}): QuotaAccess {
  const quotas = client.of(RESOURCE_QUOTAS);
  const types = kinds.map(({ type }) => type);
  return {
    async read(namespace) {
      const { items } = await quotas.list({ namespace });
      return Promise.all(items.map((quota) => counted(quota, namespace)));
    },
    write: (quota) => quotas.update(quota, { subresource: 'status', fieldManager: QUOTA_MANAGER }),
  };

  /** A quota that nobody has counted yet, or whose limits have changed since, is counted here. */
  async function counted(quota: Quota, namespace: string): Promise<Quota> {
    const used = quota.status?.used ?? {};
    const unknown = Object.keys(quota.spec?.hard ?? {}).filter((name) => used[name] === undefined);
    if (unknown.length === 0) return quota;
    const lists = await Promise.all(
      countedTypes(unknown, types).map(async (type) => ({
        type,
        items: (await client.of(type).list({ namespace })).items,
      })),
    );
    const fresh = usedBy(quota, lists);
    const missing = Object.fromEntries(unknown.map((name) => [name, fresh[name] ?? '0']));
    return { ...quota, status: { ...quota.status, used: { ...used, ...missing } } };
  }
}
