// How the objects of a kind are read and written whose versions a webhook turns into one another.
// Guarantees: behind the caches and before the store there is the stored version, everywhere else the one of the request;
// kinds without a webhook pass through here without a promise.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { Versions } from '../fields/versions.js';
import type { UserInfo } from '../identity.js';
import { CachedObject } from './cached.js';
import { encodeForStore, withRevision } from './encode.js';

/** Who waits for a conversion. */
export interface Caller {
  readonly user: string;
  readonly signal?: AbortSignal | undefined;
}

/** Of one version of a kind. */
export interface Conversion {
  /** The objects in that version, in their order: the very same where they are so already. Throws ApiError. */
  shown(objects: readonly CachedObject[], caller: Caller): Promise<readonly CachedObject[]>;
  /** True when `shown` would answer the very same. */
  isShown(object: CachedObject): boolean;
  /** False when the object would be written in another version or form than it was. */
  isAsWritten(object: CachedObject): boolean;
  /** Objects of that version in another one: the storage version unless given. */
  converted(objects: readonly KubeObject[], caller: Caller, to?: string): Promise<readonly KubeObject[]>;
  /** The kind in another version; undefined for none of its own. */
  kindOf(apiVersion: string): KindDefinition | undefined;
}

interface ConvertedKind extends KindDefinition {
  readonly conversion: Conversion;
}

export function conversionOf(kind: KindDefinition): Conversion | undefined {
  return (kind as Partial<ConvertedKind>).conversion;
}

interface Asker {
  readonly kind: KindDefinition;
  readonly user: Pick<UserInfo, 'name'>;
  readonly request?: { readonly signal?: AbortSignal } | undefined;
}

export const callerOf = ({ user, request }: Omit<Asker, 'kind'>): Caller => ({
  user: user.name,
  signal: request?.signal,
});

/** The versions in which the fields of an object may be owned; undefined where versions share their fields. */
export function versionsOf(asker: Asker): Versions | undefined {
  const conversion = conversionOf(asker.kind);
  return (
    conversion && {
      kindOf: (apiVersion) => conversion.kindOf(apiVersion),
      convert: (objects, to) => conversion.converted(objects, callerOf(asker), to),
    }
  );
}

/** The object in the version of the kind. */
export function shownObject(asker: Asker, held: CachedObject): CachedObject | Promise<CachedObject> {
  const conversion = conversionOf(asker.kind);
  if (conversion === undefined || conversion.isShown(held)) return held;
  return conversion.shown([held], callerOf(asker)).then(([object]) => object as CachedObject);
}

/** The bytes to store. */
export function bytesToStore(asker: Asker, object: KubeObject): Buffer | Promise<Buffer> {
  const { kind } = asker;
  const conversion = conversionOf(kind);
  if (conversion === undefined) return encodeForStore(kind, object);
  return conversion
    .converted([object], callerOf(asker))
    .then(([stored]) => encodeForStore(kind, stored as KubeObject));
}

/** The bytes to send of what was stored. */
export function bytesToSend(
  asker: Asker,
  stored: Buffer,
  { key, revision }: { readonly key: string; readonly revision: number },
): Buffer | Promise<Buffer> {
  const { kind } = asker;
  if (conversionOf(kind) === undefined) return withRevision(stored, revision);
  const shown = shownObject(asker, new CachedObject(kind, key, stored, revision));
  return shown instanceof Promise ? shown.then(({ bytes }) => bytes) : shown.bytes;
}
