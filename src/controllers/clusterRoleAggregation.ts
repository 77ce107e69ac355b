// Aggregated ClusterRoles: those with an aggregationRule hold the rules of all ClusterRoles that it selects.
// Guarantees: level-triggered and idempotent; a role whose rules are right is not written.
import type { V1ClusterRole, V1PolicyRule } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import { CLUSTER_ROLES } from '../api/resources.js';
import { compileLabelSelector } from '../api/selectors.js';
import { ignoring } from './claim.js';
import { type Controller, newQueue, runLoop } from './controller.js';

const NAME = 'clusterrole-aggregation-controller';

export const clusterRoleAggregationController: Controller = {
  name: NAME,
  async run(context) {
    const { client, informers } = context;
    const queue = newQueue(context);
    const roles = informers.of(CLUSTER_ROLES);
    // A change of any role may concern every aggregated one; there are few, and the queue holds each once.
    const lookAtAll = () => {
      for (const role of roles.list()) if (role.aggregationRule !== undefined) queue.add(role.metadata.name);
    };
    const stop = roles.on({ added: lookAtAll, updated: lookAtAll, deleted: lookAtAll });
    const reconcile = async (name: string): Promise<undefined> => {
      const role = roles.get(name);
      const rules = role === undefined ? undefined : aggregatedRules(role, roles.list());
      if (role === undefined || rules === undefined) return;
      // Gone, or changed: the change brings the role back here.
      await ignoring(['NotFound', 'Conflict'], client.of(CLUSTER_ROLES).update({ ...role, rules }));
    };
    try {
      await runLoop(context, NAME, { queue, workers: 1, reconcile });
    } finally {
      stop();
    }
  },
};

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
