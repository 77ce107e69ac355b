// Takes an object through what the apiserver does with a body: decode, defaults, preparation, checks.
import { decodeObject } from '../../../../src/api/decode.js';
import type { Draft, KindDefinition, Write } from '../../../../src/api/kind.js';
import { validateObject } from '../../../../src/api/meta.js';
import type { KubeObject } from '../../../../src/api/object.js';

/** Who writes in these tests, and when. */
const write: Write = {
  subresource: '',
  user: { name: 'alice', groups: ['system:authenticated'] },
  time: '2026-01-01T00:00:00Z',
};

export function create<T extends KubeObject>(kind: KindDefinition<T>, body: object): Draft<T> {
  const { object } = decodeObject(kind, body);
  kind.defaults?.(object);
  kind.prepareForCreate?.(object, write);
  return object;
}

/** `metadata.name: Required value...`, one line a fault. */
export function faultsOf<T extends KubeObject>(kind: KindDefinition<T>, body: object): string[] {
  return sentences(validateObject(kind, create(kind, body) as T));
}

export function faultsOfUpdate<T extends KubeObject>(
  kind: KindDefinition<T>,
  before: object,
  after: object,
): string[] {
  return sentences(validateObject(kind, update(kind, before, after) as T, create(kind, before) as T));
}

export function update<T extends KubeObject>(
  kind: KindDefinition<T>,
  before: object,
  after: object,
  subresource = '',
): Draft<T> {
  const old = create(kind, before);
  const { object } = decodeObject(kind, after);
  // As the apiserver does: an update of the whole leaves the status alone.
  if (subresource === '' && kind.hasStatus)
    Object.assign(object, { status: (old as { readonly status?: unknown }).status });
  kind.defaults?.(object);
  kind.prepareForUpdate?.(object, old as T, { ...write, subresource });
  return object;
}

export function cellsOf<T extends KubeObject>(
  kind: KindDefinition<T>,
  object: object,
  now: number,
): string[] {
  return kind.columns.map((column) => String(column.cell(object as T, now)));
}

const sentences = (causes: readonly { field?: string | undefined; message?: string | undefined }[]) =>
  causes.map(({ field, message }) => `${field}: ${message}`);
