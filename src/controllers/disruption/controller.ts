// The disruption controller: keeps every PodDisruptionBudget's numbers true, and clears away warnings that came to nothing.
// Guarantees: an error, such as a pod of an unknown controller, leaves a budget that allows nothing; what the eviction API has written meanwhile is not undone.
import type { KubeObject, Stored } from '../../api/object.js';
import { controllerOf, keyOf } from '../../api/object.js';
import {
  apiVersionOf,
  DEPLOYMENTS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceType,
  STATEFUL_SETS,
} from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Informer, Informers } from '../../client/informer.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import type { Pod } from '../pods.js';
import { writeStatus } from '../statusWrite.js';
import { type Budget, dependsOnScale, failedStatus, planBudget } from './plan.js';
import { runStaleTargets } from './staleTarget.js';

const NAME = 'disruption-controller';
const BY_NAMESPACE = 'namespace';

const UNMANAGED = {
  type: 'Warning',
  reason: 'UnmanagedPods',
  message:
    'Some of the selected pods have no controller, and are not counted as expected; ' +
    'an integer in .spec.minAvailable counts them too',
} as const;

type Scaled = Stored<KubeObject> & { readonly spec?: { readonly replicas?: number | undefined } };

export const disruptionController: Controller = {
  name: NAME,
  needs: [POD_DISRUPTION_BUDGETS, REPLICATION_CONTROLLERS, STATEFUL_SETS],
  async run(context) {
    const { informers, now } = context;
    const budgets = informers.of(POD_DISRUPTION_BUDGETS);
    const pods = informers.of(PODS);
    pods.index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? '']);
    const { expected } = scales(informers);
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
      const write = (status: Budget['status']) =>
        writeStatus({ context }, POD_DISRUPTION_BUDGETS, budget, status);
      let plan: ReturnType<typeof planBudget>;
      try {
        const matches = compileLabelSelector(budget.spec.selector);
        const selected = pods
          .byIndex(BY_NAMESPACE, budget.metadata.namespace ?? '')
          .filter(({ metadata }) => matches(metadata.labels));
        const isShare = dependsOnScale(budget);
        plan = planBudget({
          budget,
          pods: selected,
          now: now(),
          expected: isShare ? expected(selected) : selected.length,
        });
        if (isShare && selected.some((pod) => controllerOf(pod) === undefined))
          context.record(POD_DISRUPTION_BUDGETS, budget, UNMANAGED);
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

interface Scales {
  /** How many pods those who manage these wish for, each counted once. Throws for a pod whose manager cannot be asked. */
  expected(pods: readonly Pod[]): number;
}

const MANAGERS = [REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS] as const;

function scales(informers: Informers): Scales {
  const kinds = new Map<string, Informer<KubeObject>>(
    MANAGERS.map((type) => [
      `${apiVersionOf(type)} ${type.kind}`,
      informers.of(type as ResourceType) as Informer<KubeObject>,
    ]),
  );
  const deployments = informers.of(DEPLOYMENTS);
  return {
    expected(pods) {
      const wishes = new Map<string, number>();
      for (const pod of pods) {
        const owner = controllerOf(pod);
        if (owner === undefined) continue;
        const { namespace } = pod.metadata;
        const found = kinds
          .get(`${owner.apiVersion} ${owner.kind}`)
          ?.get(keyOf({ name: owner.name, namespace }));
        if (found?.metadata.uid !== owner.uid)
          throw new Error(`found no controllers for pod "${pod.metadata.name}"`);
        const above = controllerOf(found);
        const deployment =
          above?.kind === DEPLOYMENTS.kind
            ? deployments.get(keyOf({ name: above.name, namespace }))
            : undefined;
        const managing = (deployment ?? found) as Scaled;
        wishes.set(managing.metadata.uid, managing.spec?.replicas ?? 1);
      }
      return [...wishes.values()].reduce((sum, count) => sum + count, 0);
    },
  };
}
