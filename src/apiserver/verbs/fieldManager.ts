// Who a write is made by, as managedFields tells it. Pure.
// Guarantees: never empty; what a client names itself is bounded and printable.
import type { KindDefinition } from '../../api/kind.js';
import { apiVersionOf } from '../../api/resources.js';
import { invalid } from '../../api/status.js';
import type { ManagerId } from '../fields/managers.js';
import type { Call } from '../serverContext.js';
import { formOf } from './served.js';

const MAX_LENGTH = 128;

export function managerOf(kind: KindDefinition, call: Call): ManagerId {
  return {
    name: namedManager(call) || nameOfClient(call),
    operation: 'Update',
    apiVersion: apiVersionOf((kind.custom === undefined ? kind : formOf(kind, call)).type),
    subresource: call.info.subresource,
  };
}

/** The name that the request gives, checked; empty when it gives none. */
export function namedManager({ query, info }: Pick<Call, 'query' | 'info'>): string {
  const name = query.get('fieldManager') ?? '';
  if (Buffer.byteLength(name) > MAX_LENGTH) {
    throw optionsError(info.verb, 'FieldValueTooLong', 'Too long: may not be more than 128 bytes');
  }
  if (/[^\P{C}]/u.test(name)) {
    const message = `Invalid value: ${JSON.stringify(name)}: should only contain printable characters`;
    throw optionsError(info.verb, 'FieldValueInvalid', message);
  }
  return name;
}

const OPTIONS: Readonly<Record<string, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
};

export function optionsError(verb: string, reason: string, message: string, field = 'fieldManager') {
  const kind = OPTIONS[verb] ?? 'PatchOptions';
  return invalid({ group: 'meta.k8s.io', kind }, '', [{ field, reason, message }]);
}

/** `kubectl` of `kubectl/v1.32.0 (linux/amd64)`. Callers in this process send no such header: their user says it. */
function nameOfClient({ request, user }: Pick<Call, 'request' | 'user'>): string {
  const agent = (request.headers['user-agent'] ?? '').split('/')[0]?.replace(/[^\P{C}]/gu, '') ?? '';
  if (agent !== '') return agent.slice(0, MAX_LENGTH);
  if (user.name.startsWith('system:node:')) return 'kubelet';
  return user.name.split(':').at(-1)?.slice(0, MAX_LENGTH) || 'unknown';
}
