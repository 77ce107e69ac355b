// Whether the defaults of a schema are themselves instances of it. Pure.
// Guarantees: a default that would be pruned or refused is found when the definition is written.
import { type Cause, invalidValue } from '../causes.js';
import { copyJson, sameJson } from '../ownKeys.js';
import { spendWork } from '../workLimit.js';
import { checkEmbedded } from './embedded.js';
import { pruned } from './prune.js';
import type { Structural } from './schema.js';
import { makeValidator } from './validate.js';

/** Of one schema, without those below it. */
const SCHEMA_WORK = 20;

const META = new Set(['metadata', 'apiVersion', 'kind']);

export function checkDefaults(schema: Structural, path: string, isResource = true): Cause[] {
  if (!schema.hasDefaults) return [];
  spendWork(SCHEMA_WORK);
  const causes: Cause[] = [];
  if (schema.default !== undefined) causes.push(...defaultFaults(schema, `${path}.default`));
  if (schema.items !== undefined)
    causes.push(...checkDefaults(schema.items, `${path}.items`, schema.items.isEmbedded));
  for (const [name, part] of schema.properties) {
    // Defaults of metadata are judged with the whole that they are part of.
    if (isResource && META.has(name)) continue;
    causes.push(...checkDefaults(part, `${path}.properties[${name}]`, part.isEmbedded));
  }
  return causes;
}

function defaultFaults(schema: Structural, path: string): Cause[] {
  const left = pruned(copyJson(schema.default), schema, { paths: [] });
  if (!sameJson(left, schema.default))
    return [invalidValue(path, schema.default, 'must not have unknown fields')];
  const embedded = checkEmbedded(schema.default, schema, path);
  return embedded.length > 0 ? embedded : makeValidator(schema.source, path).validate(schema.default);
}
