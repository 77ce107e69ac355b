// Runs the admission plugins around a write.
// Guarantees: all mutations come before all validations; the first refusal ends the request.
import type { Draft, KindDefinition, Write } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { Check } from '../../store/store.js';
import type { AdmissionRequest } from '../admission.js';
import type { ApiRequest } from '../exchange.js';
import type { ManagerId } from '../fields/managers.js';
import type { UserInfo } from '../identity.js';
import { type ServerContext, timestamp, type Undo } from '../serverContext.js';

/** Who writes what, as far as it stays the same over the retries of a request. */
export interface WriteContext {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Owner of the fields that this write changes. */
  readonly manager: ManagerId;
  /** Tells the client something that is no refusal. */
  warn?(text: string): void;
  /** Says something of the request in the audit log. */
  annotate?(key: string, value: string): void;
  /** Asked last before the write. */
  readonly request?: Partial<Pick<ApiRequest, 'isAllowed' | 'signal'>>;
  /** Of a leader: nothing of it is written once another term has begun. */
  readonly term?: Check | undefined;
  /** The size of what the client sent. */
  readonly sentBytes?: number;
  /** Waits for a turn when that many bytes are to be worked on; undefined when they are few. */
  step?(bytes: number): Promise<void> | undefined;
}

/** Between two steps of costly work: on what the client sent, and on that many bytes beside it. */
export function turn({ step, sentBytes = 0 }: WriteContext, bytes = 0): Promise<void> | undefined {
  return step?.(Math.max(bytes, sentBytes));
}

interface Subject {
  readonly operation: AdmissionRequest['operation'];
  readonly object?: Draft<KubeObject>;
  readonly old?: KubeObject;
}

export async function mutate({ admission }: ServerContext, context: WriteContext, subject: Subject) {
  const request = requestOf(context, subject);
  for (const plugin of admission) {
    // Most plugins have nothing to wait for, and each wait is a turn of the queue of microtasks.
    const pending = plugin.mutate?.(request);
    if (pending !== undefined) await pending;
  }
}

export async function validateAdmission(
  { admission }: ServerContext,
  context: WriteContext,
  subject: Subject,
) {
  const request = requestOf(context, subject);
  for (const plugin of admission) {
    const pending = plugin.validate?.(request);
    if (pending !== undefined) await pending;
  }
}

/** Takes what the write will use. Answers how to give it all back; when one plugin refuses, it is given back already. */
export async function reserveAdmission(
  { admission }: ServerContext,
  context: WriteContext,
  subject: Subject,
): Promise<Undo | undefined> {
  const request = requestOf(context, subject);
  const taken: Undo[] = [];
  const giveBack = async () => {
    for (const undo of taken) await undo();
  };
  for (const plugin of admission) {
    if (plugin.reserve === undefined) continue;
    try {
      const undo = await plugin.reserve(request);
      if (undo !== undefined) taken.push(undo);
    } catch (error) {
      await giveBack();
      throw error;
    }
  }
  return taken.length === 0 ? undefined : giveBack;
}

/** What a kind's strategy is told of a write. */
export function writeOf(server: ServerContext, { subresource, user }: WriteContext): Write {
  return { subresource, user, time: timestamp(server.now()) };
}

function requestOf(context: WriteContext, { operation, object, old }: Subject): AdmissionRequest {
  const { kind, namespace, name, subresource, user, dryRun } = context;
  return {
    operation,
    type: kind.type,
    subresource,
    namespace,
    name: name === '' ? (object?.metadata?.name ?? '') : name,
    user,
    dryRun,
    ...(object === undefined ? {} : { object }),
    ...(old === undefined ? {} : { old }),
    ...(context.warn === undefined ? {} : { warn: context.warn }),
    ...(context.annotate === undefined ? {} : { annotate: context.annotate }),
  };
}
