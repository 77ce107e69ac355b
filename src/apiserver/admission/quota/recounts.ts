// Detects that the usage of a quota was recounted by a controller that does not know of pending reservations.
// Guarantees: a version that an instance of another server wrote is no count; who wrote is read from the managed fields.
import type { Quota } from './reservations.js';

/** As whom every server writes reservations. */
export const QUOTA_MANAGER = 'quota-admission';

export class Recounts {
  readonly #versions = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** Of every version that is read, in their order. */
  see({ metadata, status }: Quota): void {
    const { uid, resourceVersion } = metadata;
    if (this.#versions.get(uid) === resourceVersion) return;
    this.#versions.set(uid, resourceVersion);
    const reserved = reservedNames(metadata.managedFields ?? []);
    for (const name of Object.keys(status?.used ?? {})) {
      if (reserved.has(name)) continue;
      const id = `${uid} ${name}`;
      this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    }
  }

  /** Of the version that our own write has made. */
  wrote({ metadata: { uid, resourceVersion } }: Quota): void {
    this.#versions.set(uid, resourceVersion);
  }

  of(uid: string, name: string): number {
    return this.#counts.get(`${uid} ${name}`) ?? 0;
  }
}

/** What was last changed by a reservation. */
function reservedNames(entries: NonNullable<Quota['metadata']['managedFields']>): ReadonlySet<string> {
  const names = entries
    .filter(({ manager }) => manager === QUOTA_MANAGER)
    .flatMap(({ fieldsV1 }) => {
      const fields = fieldsV1 as { 'f:status'?: { 'f:used'?: Record<string, unknown> } } | undefined;
      return Object.keys(fields?.['f:status']?.['f:used'] ?? {});
    });
  return new Set(names.map((name) => name.replace(/^f:/, '')));
}
