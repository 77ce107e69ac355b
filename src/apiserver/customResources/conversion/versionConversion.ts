// The objects of one version of a kind that a webhook converts: what is read, written, and known from before.
// Guarantees: an object that lies in the version that is asked for needs no call; the same object is converted once for all
// who ask within some seconds; what is kept of that is bounded in bytes.
import type { KindDefinition } from '../../../api/kind.js';
import type { KubeObject } from '../../../api/object.js';
import { sameJson } from '../../../api/ownKeys.js';
import { statusError } from '../../../api/status.js';
import type { ConvertedForm } from '../../../api/structural/customKind.js';
import { CachedObject } from '../../registry/cached.js';
import type { Caller, Conversion } from '../../registry/conversion.js';
import { encodeForStore, storedVersionOf, withRevision } from '../../registry/encode.js';
import type { KnownConversions } from './knownConversions.js';
import type { WebhookConverter } from './webhookConverter.js';

/** Of one call. A larger object goes alone. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_OBJECTS = 200;
/** After so many bytes others are served. */
const SLICE_BYTES = 64 * 1024;

interface VersionConversionOptions {
  readonly kind: KindDefinition;
  /** Of all versions of the kind, by apiVersion. */
  readonly forms: ReadonlyMap<string, ConvertedForm>;
  readonly kinds: ReadonlyMap<string, KindDefinition>;
  readonly own: ConvertedForm;
  readonly converter: Pick<WebhookConverter, 'convert'>;
  readonly known: KnownConversions;
}

export class VersionConversion implements Conversion {
  readonly #options: VersionConversionOptions;

  constructor(options: VersionConversionOptions) {
    this.#options = options;
  }

  isShown(object: CachedObject): boolean {
    const { own } = this.#options;
    return own.isCurrent(object.revision) && storedVersionOf(object.bytes) === own.apiVersion;
  }

  isAsWritten(object: CachedObject): boolean {
    const { own, forms } = this.#options;
    if (storedVersionOf(object.bytes) !== own.storage) return false;
    return (
      own.isCurrent(object.revision) ||
      sameJson(forms.get(own.storage)?.inForm(object.parse()), object.parse())
    );
  }

  async shown(objects: readonly CachedObject[], caller: Caller): Promise<readonly CachedObject[]> {
    const { known } = this.#options;
    const answers = new Map<CachedObject, CachedObject | Promise<CachedObject>>();
    const missing: CachedObject[] = [];
    for (const object of objects) {
      const held = this.isShown(object) ? object : known.get(this.#keyOf(object));
      if (held === undefined) missing.push(object);
      else answers.set(object, held);
    }
    for (const batch of batchesOf(missing)) {
      const made = this.#batch(batch, caller);
      for (const [index, object] of batch.entries()) {
        const own = made.then((all) => all[index] as CachedObject);
        known.expect(this.#keyOf(object), own);
        answers.set(object, own);
      }
      await whileWanted(made, caller.signal);
    }
    const all = Promise.all(objects.map((object) => answers.get(object) as CachedObject));
    return whileWanted(all, caller.signal);
  }

  async converted(objects: readonly KubeObject[], caller: Caller, to = this.#options.own.storage) {
    const { converter, forms } = this.#options;
    const form = forms.get(to);
    if (form === undefined) throw statusError('InternalError', `${to} is no version of this kind`);
    const from = objects[0]?.apiVersion;
    const turned =
      from === to ? objects : await whileWanted(converter.convert(objects, to, caller.user), caller.signal);
    return turned.map((object) => form.inForm(object));
  }

  kindOf(apiVersion: string): KindDefinition | undefined {
    return this.#options.kinds.get(apiVersion);
  }

  #keyOf({ key, revision }: CachedObject): string {
    return `${this.#options.kind.model} ${key}@${revision}`;
  }

  /** Those that are of another version are sent, the others only brought into form. */
  async #batch(batch: readonly CachedObject[], { user }: Caller): Promise<readonly CachedObject[]> {
    const { own, converter } = this.#options;
    const parsed = batch.map((object) => object.parse<KubeObject>());
    const results = [...parsed];
    const versions = new Set(parsed.map(({ apiVersion }) => apiVersion ?? ''));
    versions.delete(own.apiVersion);
    for (const version of versions) {
      const places = [...parsed.keys()].filter((index) => parsed[index]?.apiVersion === version);
      const sent = places.map((index) => parsed[index] as KubeObject);
      const converted = await converter.convert(sent, own.apiVersion, user);
      for (const [at, index] of places.entries()) results[index] = converted[at] as KubeObject;
    }
    return this.#inForm(batch, results);
  }

  async #inForm(batch: readonly CachedObject[], results: readonly KubeObject[]) {
    const { kind, own } = this.#options;
    const shown: CachedObject[] = [];
    let bytes = 0;
    for (const [index, { key, revision }] of batch.entries()) {
      const object = own.inForm(results[index] as KubeObject);
      const sent = withRevision(encodeForStore(kind, object), revision);
      shown.push(new CachedObject(kind, key, sent, revision, undefined, sent));
      bytes += sent.length;
      if (bytes < SLICE_BYTES) continue;
      bytes = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    return shown;
  }
}

function* batchesOf(objects: readonly CachedObject[]): Generator<readonly CachedObject[]> {
  let batch: CachedObject[] = [];
  let bytes = 0;
  for (const object of objects) {
    if (batch.length > 0 && (bytes + object.size > BATCH_BYTES || batch.length === BATCH_OBJECTS)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(object);
    bytes += object.size;
  }
  if (batch.length > 0) yield batch;
}

/** Whoever has gone away waits no longer; the call may serve others. */
async function whileWanted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  work.catch(() => {});
  const gone = () => statusError('Timeout', 'the caller has gone away');
  if (signal.aborted) throw gone();
  let stop = () => {};
  const left = new Promise<never>((_, reject) => {
    stop = () => reject(gone());
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
