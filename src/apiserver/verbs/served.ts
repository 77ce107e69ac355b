// The form in which a client sees a kind: the stored one, or one of its other versions.
// Guarantees: behind this file there is only the stored form; a client that asked for another sees nothing else.
import type { KindDefinition, KindVersion } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { getOwn } from '../../api/ownKeys.js';
import type { GroupVersionResource } from '../../api/resources.js';
import { parseObject } from '../registry/encode.js';
import type { DraftObject } from '../registry/metadata.js';
import type { Call } from '../serverContext.js';

export interface Served {
  readonly kind: KindDefinition;
  /** Undefined when the stored form was asked for. */
  readonly version: KindVersion | undefined;
}

/** Finds the kind that serves a group, version and resource. */
export function makeServed(
  kinds: readonly KindDefinition[],
): (place: GroupVersionResource) => Served | undefined {
  const served = new Map<string, Served>();
  const key = ({ group, version, resource }: GroupVersionResource) => `${group}/${version}/${resource}`;
  for (const kind of kinds) {
    served.set(key(kind.type), { kind, version: undefined });
    for (const version of kind.versions ?? []) served.set(key(version.type), { kind, version });
  }
  return (place) => served.get(key(place));
}

/** Every form of every kind: what the schemas are told of. */
export function servedForms(
  kinds: readonly KindDefinition[],
): readonly Pick<KindDefinition, 'type' | 'model'>[] {
  return kinds.flatMap((kind) => [kind, ...(kind.versions ?? [])]);
}

/** What bodies are read as. */
type Form = Pick<KindDefinition, 'type' | 'model' | 'decode' | 'custom'>;

export function formOf(kind: KindDefinition, { served }: Call): Form {
  return served ?? kind;
}

export function toStored({ served }: Call, draft: DraftObject): DraftObject {
  return served === undefined ? draft : served.toStored(draft);
}

export function fromStored<T extends KubeObject>({ served }: Call, object: T): KubeObject {
  return served === undefined ? object : served.fromStored(object);
}

/** The bytes to send: as they are, unless another form was asked for. A line, as they are. */
export function shownBytes(call: Call, bytes: Buffer): Buffer {
  if (call.served === undefined) return bytes;
  return Buffer.from(`${JSON.stringify(fromStored(call, parseObject(bytes)))}\n`);
}

const FIELD = /(^|(?<!\\),)([^=!,]+)(?=!?=)/g;

/** A query whose field selector names fields as the stored form does. */
export function storedQuery({ fieldNames }: KindVersion, query: URLSearchParams): URLSearchParams {
  const selector = query.get('fieldSelector');
  if (selector === null || fieldNames === undefined) return query;
  const copy = new URLSearchParams(query);
  copy.set(
    'fieldSelector',
    selector.replace(FIELD, (_, comma: string, name: string) => comma + (getOwn(fieldNames, name) ?? name)),
  );
  return copy;
}
