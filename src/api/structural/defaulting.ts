// The defaults of a schema, filled into an instance. Pure.
// Guarantees: idempotent; what an instance says itself is never changed, but for a null where null is not allowed; defaults
// are copied, so instances share nothing; what is filled in is bounded, however the defaults of lists multiply.
import { copyJson, type Members, setOwn } from '../ownKeys.js';
import type { Structural } from './schema.js';

/** As much as a request may bring. */
const MOST_BYTES = 3 * 1024 * 1024;
/** Of a value beside its text. */
const VALUE_BYTES = 16;

/** Changes the value. False when there was more to fill in than an object may hold: the rest is left out. */
export function fillDefaults(value: unknown, schema: Structural | undefined | null): boolean {
  const filling = new Filling();
  filling.value(value, schema);
  return !filling.isFull;
}

class Filling {
  #left = MOST_BYTES;

  get isFull(): boolean {
    return this.#left < 0;
  }

  value(value: unknown, schema: Structural | undefined | null): void {
    if (schema === undefined || schema === null || !schema.isFillable) return;
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) this.#items(value, schema.items);
    else this.#members(value as Members, schema);
  }

  #members(members: Members, schema: Structural): void {
    for (const [name, property] of schema.defaulted)
      if (!Object.hasOwn(members, name) || isWrongNull(members[name], property))
        this.#fill(property, (filled) => setOwn(members, name, filled));
    for (const name of Object.keys(members)) {
      const value = members[name];
      // Numbers and texts have nothing in them to fill.
      if (typeof value !== 'object') continue;
      const property = schema.properties.get(name) ?? schema.additional ?? undefined;
      if (property === undefined) continue;
      if (isWrongNull(value, property)) {
        if (property.default === undefined) delete members[name];
        else this.#fill(property, (filled) => setOwn(members, name, filled));
      }
      this.value(members[name], property);
    }
  }

  /** A null in a list keeps its place: without a default it is told by validation. */
  #items(items: unknown[], schema: Structural | undefined): void {
    if (schema === undefined) return;
    for (const [index, item] of items.entries()) {
      if (typeof item !== 'object') continue;
      if (isWrongNull(item, schema) && schema.default !== undefined)
        this.#fill(schema, (filled) => {
          items[index] = filled;
        });
      this.value(items[index], schema);
    }
  }

  #fill(schema: Structural, set: (value: unknown) => void): void {
    if (this.isFull) return;
    this.#left -= schema.defaultBytes + VALUE_BYTES;
    if (!this.isFull) set(copyJson(schema.default));
  }
}

const isWrongNull = (value: unknown, { nullable }: Structural): boolean => value === null && !nullable;
