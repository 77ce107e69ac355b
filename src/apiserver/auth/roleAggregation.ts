// Aggregated ClusterRoles: those with an aggregationRule hold the rules of all ClusterRoles that it selects.
// Guarantees: level-triggered and idempotent; a role whose rules are right is not written.
import type { V1ClusterRole, V1PolicyRule } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { CLUSTER_ROLES } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import { runWorkers } from '../../client/worker.js';
import { makeWorkQueue } from '../../client/workQueue.js';

export interface RoleAggregationOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Keeps them current until the signal. */
export async function runRoleAggregation({
  client,
  informers,
  log,
  signal,
}: RoleAggregationOptions): Promise<void> {
  const queue = makeWorkQueue();
  const roles = informers.of(CLUSTER_ROLES);
  // A change of any role may concern every aggregated one; there are few, and the queue holds each once.
  const lookAtAll = () => {
    for (const role of roles.list()) if (role.aggregationRule !== undefined) queue.add(role.metadata.name);
  };
  const stop = roles.on({ added: lookAtAll, updated: lookAtAll, deleted: lookAtAll });
  const sync = async (name: string) => {
    const role = roles.get(name);
    const rules = role === undefined ? undefined : aggregatedRules(role, roles.list());
    if (role === undefined || rules === undefined) return;
    try {
      await client.of(CLUSTER_ROLES).update({ ...role, rules });
    } catch (error) {
      // Gone, or changed: the change brings the role back here.
      if (!ApiError.is(error, 'NotFound', 'Conflict')) throw error;
    }
  };
  try {
    await runWorkers({ queue, concurrency: 1, sync, log, signal });
  } finally {
    stop();
  }
}

/** The rules that the role should have, in the order of the roles' names; undefined when it has them. */
export function aggregatedRules(
  role: V1ClusterRole,
  all: readonly Stored<V1ClusterRole>[],
): readonly V1PolicyRule[] | undefined {
  const selectors = (role.aggregationRule?.clusterRoleSelectors ?? []).map(compileLabelSelector);
  const selected = all
    .filter(
      ({ metadata }) =>
        metadata.name !== role.metadata?.name && selectors.some((matches) => matches(metadata.labels)),
    )
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules = new Map(
    selected.flatMap(({ rules = [] }) => rules).map((rule) => [JSON.stringify(rule), rule]),
  );
  const wanted = [...rules.values()];
  return JSON.stringify(wanted) === JSON.stringify(role.rules ?? []) ? undefined : wanted;
}
