// pods/eviction: a deletion that a drain asks for, within the disruption budget of the pod.
// Guarantees: a budget is spent before its pod is deleted, by one writer at a time; without room, or when admission or
// a precondition refuses it, nothing changes. If the pod changes after the budget was spent, a precondition may still fail: then
// the budget's controller gives back what was spent.
import type { V1DeleteOptions, V1Eviction, V1Pod, V1PodDisruptionBudget } from '../../api/gen/types.js';
import type { Draft, KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { POD_DISRUPTION_BUDGETS } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { ApiError, statusError } from '../../api/status.js';
import { isType } from '../discovery/resources.js';
import { type ApiResponse, jsonResponse } from '../exchange.js';
import { mutate, validateAdmission, type WriteContext } from '../registry/admit.js';
import { checkPreconditions, deleteObject } from '../registry/delete.js';
import { parseObject } from '../registry/encode.js';
import { listPrefix } from '../registry/keys.js';
import type { DraftObject } from '../registry/metadata.js';
import { readCurrent } from '../registry/readAndWrite.js';
import { updateObject } from '../registry/update.js';
import { type Call, type ServerContext, timestamp } from '../serverContext.js';
import { decodeOther, readData } from '../verbs/body.js';
import { deleteRequest } from '../verbs/options.js';
import { writeContext } from '../verbs/write.js';
import { type EvictionWay, ignoresBudgets, judgeEviction, spend, stillProcessed } from './budget.js';

/** As often as Kubernetes tries. */
const ATTEMPTS = 20;

const TARGET = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
};

export async function evict(server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const eviction = decodeOther<V1Eviction>('V1Eviction', await readData(call));
  const { deleteOptions, metadata } = eviction;
  const { options, dryRun } = deleteRequest(deleteOptions ?? {}, call.query);
  const context = { ...writeContext(kind, call), dryRun };
  if ((metadata?.name ?? '') !== context.name) {
    throw statusError('BadRequest', 'name in URL does not match name in Eviction object');
  }
  const pod = (await readCurrent(server, context)).parse<V1Pod>();
  const subject = { operation: 'create', object: eviction as Draft<KubeObject>, old: pod } as const;
  await mutate(server, context, subject);
  await validateAdmission(server, context, subject);
  await evictPod(server, context, options, pod);
  return jsonResponse(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

/** A pod that is judged by being unready may become ready meanwhile: then it is judged anew. */
async function evictPod(
  server: ServerContext,
  context: WriteContext,
  options: V1DeleteOptions,
  first: V1Pod,
): Promise<void> {
  const namesVersion = options.preconditions?.resourceVersion !== undefined;
  for (let pod = first, attempt = 1; ; attempt += 1) {
    checkPreconditions(context, options, pod);
    const ignored = ignoresBudgets(pod);
    const budget = ignored === undefined ? budgetOf(server, pod) : undefined;
    const way = ignored ?? (budget === undefined ? 'free' : await spendBudget(server, context, pod, budget));
    try {
      return await markAndDelete(server, context, way === 'unready' ? asJudged(options, pod) : options);
    } catch (error) {
      if (namesVersion || way !== 'unready' || !ApiError.is(error, 'Conflict')) throw error;
      if (budget !== undefined) throw stillProcessed(budget.metadata?.name ?? '');
      if (attempt === ATTEMPTS) throw error;
    }
    pod = (await readCurrent(server, context)).parse<V1Pod>();
  }
}

const asJudged = (options: V1DeleteOptions, { metadata }: V1Pod): V1DeleteOptions => ({
  ...options,
  preconditions: { resourceVersion: metadata?.resourceVersion, ...options.preconditions },
});

async function markAndDelete(
  server: ServerContext,
  context: WriteContext,
  options: V1DeleteOptions,
): Promise<void> {
  const marked = await tellWhy(server, context, options);
  // The version that was asked for is the one before our own mark.
  const { preconditions } = options;
  const moved =
    preconditions?.resourceVersion === undefined || context.dryRun
      ? options
      : { ...options, preconditions: { ...preconditions, resourceVersion: marked } };
  await deleteObject(server, context, moved, { isAdmitted: true });
}

/** A Job's failure policy, for one, asks whether the pod failed or was taken away. */
async function tellWhy(
  server: ServerContext,
  context: WriteContext,
  options: V1DeleteOptions,
): Promise<string | undefined> {
  const bytes = await updateObject(
    server,
    { ...context, subresource: 'status' },
    {
      mode: 'server',
      transform: (current) => {
        checkPreconditions(context, options, current);
        const { status = {} } = current as Draft<V1Pod>;
        const others = (status.conditions ?? []).filter(({ type }) => type !== TARGET.type);
        const target = { ...TARGET, lastTransitionTime: timestamp(server.now()) };
        return { ...current, status: { ...status, conditions: [...others, target] } } as DraftObject;
      },
    },
  );
  return parseObject(bytes).metadata?.resourceVersion;
}

/** The one budget that guards the pod. */
function budgetOf(server: ServerContext, pod: V1Pod): V1PodDisruptionBudget | undefined {
  const kind = server.kinds.find(({ type }) => isType(type, POD_DISRUPTION_BUDGETS));
  const budgets = kind === undefined ? [] : budgetsOf(server, kind, pod);
  if (budgets.length < 2) return budgets[0];
  throw statusError(
    'InternalError',
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  );
}

async function spendBudget(
  server: ServerContext,
  context: WriteContext,
  pod: V1Pod,
  budget: V1PodDisruptionBudget,
): Promise<EvictionWay> {
  const kind = server.kinds.find(({ type }) => isType(type, POD_DISRUPTION_BUDGETS));
  const way = judgeEviction(pod, budget);
  if (way === 'unready' || kind === undefined) return way;
  const name = budget.metadata?.name ?? '';
  let settled: EvictionWay = way;
  await updateObject(
    server,
    { ...context, kind, name, subresource: 'status' },
    {
      mode: 'server',
      // Judged again on what is there when it is written: two drains may not spend the same room.
      transform: (current) => {
        const held = current as Draft<V1PodDisruptionBudget>;
        settled = judgeEviction(pod, held);
        if (settled === 'unready') return current as DraftObject;
        return spend(held, pod.metadata?.name ?? '', timestamp(server.now())) as DraftObject;
      },
    },
  );
  return settled;
}

function budgetsOf(
  { feed }: ServerContext,
  kind: KindDefinition,
  pod: V1Pod,
): readonly V1PodDisruptionBudget[] {
  const found: V1PodDisruptionBudget[] = [];
  for (const held of feed.cacheOf(kind).range(listPrefix(kind.type, pod.metadata?.namespace ?? ''))) {
    const budget = held.parse<V1PodDisruptionBudget>();
    const { selector } = budget.spec ?? {};
    if (selector !== undefined && compileLabelSelector(selector)(pod.metadata?.labels)) found.push(budget);
  }
  return found;
}
