// The disruption controller: keeps every PodDisruptionBudget's numbers true, and clears away warnings that came to nothing.
// Guarantees: an error leaves a budget that allows nothing; what the eviction API has written meanwhile is not undone.
import type { KubeObject, Stored } from '../../api/object.js';
import { controllerOf, keyOf } from '../../api/object.js';
import {
  DEPLOYMENTS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  STATEFUL_SETS,
} from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import type { Informer, Informers } from '../../client/informer.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { messageOf } from '../ownedPods.js';
import type { Pod } from '../pods.js';
import { sameStatusMeaning } from '../sameStatus.js';
import { type Budget, failedStatus, planBudget } from './plan.js';
import { runStaleTargets } from './staleTarget.js';

const NAME = 'disruption-controller';
const BY_NAMESPACE = 'namespace';

type Scaled = Stored<KubeObject> & { readonly spec?: { readonly replicas?: number | undefined } };

export const disruptionController: Controller = {
  name: NAME,
  needs: [POD_DISRUPTION_BUDGETS, REPLICATION_CONTROLLERS, STATEFUL_SETS],
  async run(context) {
    const { informers, client, now } = context;
    const budgets = informers.of(POD_DISRUPTION_BUDGETS);
    const pods = informers.of(PODS);
    pods.index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? '']);
    const expectedOf = scales(informers);
    const queue = newQueue(context);
    const wake = ({ metadata }: Budget) => queue.add(keyOf(metadata));
    budgets.on({ added: wake, updated: wake });
    const wakeSelecting = (pod: Pod) => {
      for (const budget of budgets.list())
        if (budget.metadata.namespace === pod.metadata.namespace && selects(budget, pod)) wake(budget);
    };
    pods.on({
      added: wakeSelecting,
      updated: (pod, previous) => {
        wakeSelecting(pod);
        if (pod.metadata.labels !== previous.metadata.labels) wakeSelecting(previous);
      },
      deleted: wakeSelecting,
    });
    const reconcile = async (key: string): Promise<number | undefined> => {
      const budget = budgets.get(key);
      if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return undefined;
      const write = async (status: Budget['status']) => {
        if (sameStatusMeaning(budget.status, status)) return;
        const update = client
          .of(POD_DISRUPTION_BUDGETS)
          .update({ ...budget, status }, { subresource: 'status' });
        await ignoring(['NotFound'], update);
      };
      let plan: ReturnType<typeof planBudget>;
      try {
        const matches = compileLabelSelector(budget.spec.selector);
        const selected = pods
          .byIndex(BY_NAMESPACE, budget.metadata.namespace ?? '')
          .filter(({ metadata }) => matches(metadata.labels));
        plan = planBudget({ budget, pods: selected, expected: expectedOf(selected), now: now() });
      } catch (error) {
        await write(failedStatus(budget, messageOf(error), now()));
        throw error;
      }
      await write(plan.status);
      return plan.againMs;
    };
    await Promise.all([
      runLoop(context, NAME, { queue, workers: 2, reconcile }),
      runStaleTargets(context, NAME),
    ]);
  },
};

function selects({ spec }: Budget, { metadata }: Pod): boolean {
  try {
    return compileLabelSelector(spec.selector)(metadata.labels);
  } catch {
    // A selector that cannot be read selects nothing; its own look tells of it.
    return false;
  }
}

/** Sums the wishes of those who manage the pods, each once. Pods that nobody manages count for themselves. */
function scales(informers: Informers): (pods: readonly Pod[]) => number {
  const find =
    <T extends KubeObject>(informer: Informer<T>) =>
    (namespace: string | undefined, name: string) =>
      informer.get(keyOf({ name, namespace })) as Scaled | undefined;
  const deployment = find(informers.of(DEPLOYMENTS));
  const finders: Readonly<Record<string, ReturnType<typeof find>>> = {
    ReplicaSet: find(informers.of(REPLICA_SETS)),
    ReplicationController: find(informers.of(REPLICATION_CONTROLLERS)),
    StatefulSet: find(informers.of(STATEFUL_SETS)),
  };
  return (pods) => {
    const wishes = new Map<string, number>();
    for (const pod of pods) {
      const owner = controllerOf(pod);
      const { namespace } = pod.metadata;
      const found = owner === undefined ? undefined : finders[owner.kind]?.(namespace, owner.name);
      if (found === undefined || found.metadata.uid !== owner?.uid) {
        wishes.set(pod.metadata.uid, 1);
        continue;
      }
      const above = controllerOf(found);
      const managing =
        above?.kind === DEPLOYMENTS.kind ? (deployment(namespace, above.name) ?? found) : found;
      wishes.set(managing.metadata.uid, managing.spec?.replicas ?? 1);
    }
    return [...wishes.values()].reduce((sum, count) => sum + count, 0);
  };
}
