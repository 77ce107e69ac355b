// The default roles and bindings, brought into the cluster at start and repaired when something of them is missing.
// Guarantees: idempotent; adds what is missing, keeps what an administrator added; autoupdate=false leaves an object alone.
import type { RbacV1Subject, V1ClusterRole, V1Role, V1RoleBinding } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
} from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import {
  AUTO_UPDATE,
  bootstrapBindings,
  bootstrapNamespaceBindings,
  bootstrapNamespaceRoles,
  bootstrapRoles,
} from './bootstrapRoles.js';
import { uncoveredRules } from './coverage.js';
import { retiredRules } from './defaults/retiredRules.js';

/** The names of what was created or repaired; empty on a cluster that has it all. The namespaces must be there. */
export async function reconcileBootstrapPolicy(client: Client): Promise<readonly string[]> {
  // Roles before the bindings that give them.
  const roles = [
    await reconcileAll(client, CLUSTER_ROLES, bootstrapRoles, repairedRole),
    await reconcileAll(client, ROLES, bootstrapNamespaceRoles, repairedRole),
  ];
  const bindings = [
    await reconcileAll(client, CLUSTER_ROLE_BINDINGS, bootstrapBindings, repairedBinding),
    await reconcileAll(client, ROLE_BINDINGS, bootstrapNamespaceBindings, repairedBinding),
  ];
  return [...roles, ...bindings].flat();
}

type Role = V1Role & Pick<V1ClusterRole, 'aggregationRule'>;

/** The role with what it lacks added, or undefined when it lacks nothing. */
function repairedRole<T extends Role>(existing: Stored<T>, wanted: T): T | undefined {
  const rules = existing.aggregationRule === undefined ? repairedRules(existing, wanted) : existing.rules;
  const repaired: T = {
    ...existing,
    metadata: repairedMetadata(existing, wanted),
    ...(rules === undefined ? {} : { rules }),
    ...(wanted.aggregationRule === undefined || existing.aggregationRule !== undefined
      ? {}
      : { aggregationRule: wanted.aggregationRule }),
  };
  return sameJson(repaired, existing) ? undefined : repaired;
}

function repairedRules(existing: Stored<Role>, wanted: Role): Role['rules'] {
  const retired = retiredRules[existing.metadata.name] ?? [];
  const held = (existing.rules ?? []).filter((rule) => !retired.some((old) => sameJson(old, rule)));
  const missing = (wanted.rules ?? []).filter((rule) => uncoveredRules(held, [rule]).length > 0);
  return missing.length === 0 && held.length === existing.rules?.length
    ? existing.rules
    : [...held, ...missing];
}

/** The binding with the subjects it lacks added, or undefined when it lacks none. */
function repairedBinding<T extends V1RoleBinding>(existing: Stored<T>, wanted: T): T | undefined {
  const held = new Set((existing.subjects ?? []).map(subjectId));
  const missing = (wanted.subjects ?? []).filter((subject) => !held.has(subjectId(subject)));
  const repaired: T = {
    ...existing,
    metadata: repairedMetadata(existing, wanted),
    ...(missing.length === 0 ? {} : { subjects: [...(existing.subjects ?? []), ...missing] }),
  };
  return sameJson(repaired, existing) ? undefined : repaired;
}

/** What an administrator has set stays, whatever it is. */
function repairedMetadata({ metadata }: Stored<KubeObject>, { metadata: wanted }: KubeObject) {
  return {
    ...metadata,
    labels: { ...wanted?.labels, ...metadata.labels },
    annotations: { ...wanted?.annotations, ...metadata.annotations },
  };
}

async function reconcileAll<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
  repair: (existing: Stored<T>, wanted: T) => T | undefined,
): Promise<string[]> {
  const { items } = await client.of(type).list();
  const present = new Map(items.map((item) => [keyOf(item.metadata), item]));
  const changed = await Promise.all(
    wanted.map(async (one) => {
      const key = keyOf({ name: one.metadata?.name ?? '', namespace: one.metadata?.namespace });
      const done = await reconcile(client, type, { existing: present.get(key), wanted: one, repair });
      return done ? [`${type.kind.toLowerCase()}/${key}`] : [];
    }),
  );
  return changed.flat();
}

interface Reconciled<T extends KubeObject> {
  readonly existing: Stored<T> | undefined;
  readonly wanted: T;
  repair(existing: Stored<T>, wanted: T): T | undefined;
}

async function reconcile<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  { existing, wanted, repair }: Reconciled<T>,
): Promise<boolean> {
  const resource = client.of(type);
  try {
    if (existing === undefined) {
      await resource.create(wanted);
      return true;
    }
    if (existing.metadata.annotations?.[AUTO_UPDATE] === 'false') return false;
    const [from, to] = [existing, wanted].map(roleOf);
    if (from !== to) {
      // What a binding gives cannot be changed: it is made anew.
      await resource.delete(existing.metadata, { preconditions: { uid: existing.metadata.uid } });
      await resource.create(wanted);
      return true;
    }
    const repaired = repair(existing, wanted);
    if (repaired === undefined) return false;
    await resource.update(repaired);
    return true;
  } catch (error) {
    // A second apiserver on the same store does the same work at the same time.
    if (ApiError.is(error, 'AlreadyExists', 'Conflict')) return false;
    throw error;
  }
}

/** The role that a binding gives; nothing for what is no binding. */
function roleOf(object: KubeObject & { readonly roleRef?: V1RoleBinding['roleRef'] }): string {
  const { kind = '', name = '' } = object.roleRef ?? {};
  return `${kind}/${name}`;
}

const subjectId = ({ kind, namespace = '', name }: RbacV1Subject) => `${kind}/${namespace}/${name}`;
