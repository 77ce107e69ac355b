// Runs the admission plugins around a write.
// Guarantees: all mutations come before all validations; the first refusal ends the request.
import type { Draft, KindDefinition, Write } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { AdmissionRequest } from '../admission.js';
import type { UserInfo } from '../identity.js';
import { type Machinery, timestamp } from '../machinery.js';

/** Who writes what, as far as it stays the same over the retries of a request. */
export interface WriteContext {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
}

export interface Subject {
  readonly operation: AdmissionRequest['operation'];
  readonly object?: Draft<KubeObject>;
  readonly old?: KubeObject;
}

export async function mutate({ admission }: Machinery, context: WriteContext, subject: Subject) {
  const request = requestOf(context, subject);
  for (const plugin of admission) await plugin.mutate?.(request);
}

export async function validateAdmission({ admission }: Machinery, context: WriteContext, subject: Subject) {
  const request = requestOf(context, subject);
  for (const plugin of admission) await plugin.validate?.(request);
}

/** What a kind's strategy is told of a write. */
export function writeOf(machinery: Machinery, { subresource, user }: WriteContext): Write {
  return { subresource, user, time: timestamp(machinery.now()) };
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
  };
}
