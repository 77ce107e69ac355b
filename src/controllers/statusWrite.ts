// Writes what a controller has found out to the status of an object.
// Guarantees: a status that means what it meant is not written; an object that has gone is no failure.
import { type KubeObject, keyOf, type Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import { ignoring } from './claim.js';
import type { ControllerContext } from './controller.js';
import { sameStatusMeaning } from './sameStatus.js';
import type { Writes } from './writes.js';

interface StatusWriter {
  readonly context: Pick<ControllerContext, 'client'>;
  /** Where the controller reads its own writes. */
  readonly writes?: Writes;
}

/** Answers the object as it was written; undefined when nothing was. */
export async function writeStatus<T extends KubeObject>(
  writer: StatusWriter,
  type: ResourceType<T>,
  object: Stored<T>,
  status: Stored<T> extends { readonly status: infer S } ? S : never,
): Promise<Stored<T> | undefined> {
  const before = 'status' in object ? object.status : undefined;
  if (sameStatusMeaning(before, status)) return undefined;
  return await putStatus(writer, type, { ...object, status });
}

/** Writes the status that the object has. Answers it as it was written; undefined when it has gone. */
export async function putStatus<T extends KubeObject>(
  { context, writes }: StatusWriter,
  type: ResourceType<T>,
  object: Stored<T>,
): Promise<Stored<T> | undefined> {
  const update = context.client.of(type).update(object, { subresource: 'status' });
  const written = await ignoring(['NotFound'], update);
  if (written !== undefined) writes?.wrote(keyOf(object.metadata), written);
  return written;
}
