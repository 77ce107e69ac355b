// Keeps the default FlowSchemas and PriorityLevelConfigurations, and says of every FlowSchema whether its level is there.
// Guarantees: level-triggered; what an administrator keeps (autoupdate-spec "false") stays as it is but for the mandatory
// ones; nothing is written where nothing differs.
import type { V1FlowSchema, V1FlowSchemaCondition } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import { FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS, type ResourceType } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import {
  AUTO_UPDATE,
  MANDATORY_LEVELS,
  MANDATORY_SCHEMAS,
  SUGGESTED_LEVELS,
  SUGGESTED_SCHEMAS,
} from './defaults.js';

const DANGLING = 'Dangling';
const LOOK_AGAIN_MS = 60_000;

type Configured = KubeObject & { readonly spec?: object | undefined };

/** The object as it ought to be; undefined where it is so, or is an administrator's. Pure. */
export function revised<T extends Configured>(
  held: Stored<T>,
  wanted: T,
  isMandatory: boolean,
): T | undefined {
  const said = held.metadata.annotations?.[AUTO_UPDATE] ?? '';
  const isKnown = said === 'true' || said === 'false';
  // Unmarked, and never changed: it is still the one that was made here.
  const follows = isMandatory || (isKnown ? said === 'true' : held.metadata.generation === 1);
  const isRight = !follows || sameJson(held.spec, wanted.spec);
  if (isRight && said === String(follows)) return undefined;
  return {
    ...held,
    metadata: {
      ...held.metadata,
      annotations: { ...held.metadata.annotations, [AUTO_UPDATE]: String(follows) },
    },
    spec: isRight ? held.spec : wanted.spec,
  };
}

/** Its conditions where they must say something else; undefined where they are right. Pure. */
export function judged(
  { spec, status }: V1FlowSchema,
  isThere: (level: string) => boolean,
  time: string,
): readonly V1FlowSchemaCondition[] | undefined {
  const level = spec?.priorityLevelConfiguration.name ?? '';
  const isFound = isThere(level);
  const wanted = {
    type: DANGLING,
    status: isFound ? 'False' : 'True',
    reason: isFound ? 'Found' : 'NotFound',
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} ${isFound ? 'and it exists' : 'but there is no such object'}`,
  };
  const conditions = status?.conditions ?? [];
  const { lastTransitionTime: _, ...held } = conditions.find(({ type }) => type === DANGLING) ?? {};
  if (sameJson(held, wanted)) return undefined;
  return [...conditions.filter(({ type }) => type !== DANGLING), { ...wanted, lastTransitionTime: time }];
}

/** Creates and corrects what every cluster has. */
export async function ensureFlowControl(client: Client): Promise<void> {
  await ensure(client, PRIORITY_LEVEL_CONFIGURATIONS, SUGGESTED_LEVELS, MANDATORY_LEVELS);
  await ensure(client, FLOW_SCHEMAS, SUGGESTED_SCHEMAS, MANDATORY_SCHEMAS);
}

async function ensure<T extends Configured>(
  client: Client,
  type: ResourceType<T>,
  suggested: readonly T[],
  mandatory: readonly T[],
): Promise<void> {
  const resource = client.of(type);
  const held = new Map((await resource.list()).items.map((item) => [item.metadata.name, item]));
  const write = async (wanted: T) => {
    const present = held.get(wanted.metadata?.name ?? '');
    if (present === undefined) return resource.create(wanted);
    const right = revised(present, wanted, mandatory.includes(wanted));
    return right === undefined ? undefined : resource.update(right);
  };
  // Another server does the same at the same time.
  await Promise.all([...suggested, ...mandatory].map((one) => ignoringRaces(write(one))));
}

async function ignoringRaces(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!ApiError.is(error, 'AlreadyExists', 'Conflict', 'NotFound')) throw error;
  }
}

interface KeeperOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly log: Log;
  now?(): number;
}

/** Call what it returns to end it. */
export function reconcileFlowControl({ client, informers, log, now = Date.now }: KeeperOptions): () => void {
  const schemas = informers.of(FLOW_SCHEMAS);
  const levels = informers.of(PRIORITY_LEVEL_CONFIGURATIONS);
  const resource = client.of(FLOW_SCHEMAS);
  const trouble = (error: unknown) =>
    log.warn('the flow schemas cannot be kept', { error: messageOf(error) });
  const judge = async (schema: Stored<V1FlowSchema>) => {
    const time = new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const conditions = judged(schema, (name) => levels.get(name) !== undefined, time);
    if (conditions === undefined) return;
    const { name } = schema.metadata;
    await ignoringRaces(
      resource.patch({ name }, 'merge', { status: { conditions } }, { subresource: 'status' }),
    );
  };
  const judgeAll = () => {
    if (!schemas.hasSynced() || !levels.hasSynced()) return;
    void Promise.all(schemas.list().map(judge)).catch(trouble);
  };
  const changed = (schema: Stored<V1FlowSchema>) => {
    if (levels.hasSynced()) judge(schema).catch(trouble);
  };
  const stops = [
    schemas.on({ added: changed, updated: changed }),
    levels.on({ added: judgeAll, deleted: judgeAll }),
  ];
  void Promise.all([schemas.synced(), levels.synced()]).then(judgeAll);
  const timer = setInterval(() => {
    ensureFlowControl(client).then(judgeAll).catch(trouble);
  }, LOOK_AGAIN_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    for (const stop of stops) stop();
  };
}
