// Resources inside a resource: their apiVersion, kind and metadata. Pure.
// Guarantees: metadata that is kept has the fields and types of ObjectMeta; faults in Kubernetes' words.
import { type Cause, invalidValue, required } from '../causes.js';
import { decodeModel } from '../decode.js';
import type { V1ObjectMeta } from '../gen/types.js';
import { validateMeta } from '../meta.js';
import { dnsLabel1035 } from '../names.js';
import { isMembers, type Members } from '../ownKeys.js';
import { DecodeError } from '../scalars.js';
import type { Structural } from './schema.js';

type Schema = Structural | undefined | null;
type Visit = (resource: Members, path: string) => void;

/** Every embedded resource of a value, the outer before the inner. */
function visitEmbedded(value: unknown, schema: Schema, path: string, visit: Visit): void {
  if (schema === undefined || schema === null || !schema.hasEmbedded) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      visitEmbedded(item, schema.items, `${path}[${index}]`, visit);
    return;
  }
  if (!isMembers(value)) return;
  if (schema.isEmbedded) visit(value, path);
  for (const name of Object.keys(value)) {
    const part = schema.properties.get(name) ?? schema.additional;
    visitEmbedded(value[name], part, path === '' ? name : `${path}.${name}`, visit);
  }
}

/** Brings metadata into the form of ObjectMeta. Answers the fields that it left out; throws DecodeError. */
export function coerceEmbedded(value: unknown, schema: Structural): string[] {
  const unknown: string[] = [];
  visitEmbedded(value, schema, '', (resource, path) => {
    if (!isMembers(resource['metadata'])) return;
    const { object, unknownFields } = decodeModel<V1ObjectMeta>('V1ObjectMeta', resource['metadata']);
    resource['metadata'] = object;
    unknown.push(...unknownFields.map((name) => `${path}.metadata.${name}`.replace(/^\./, '')));
  });
  return unknown;
}

export function checkEmbedded(value: unknown, schema: Structural, base = ''): Cause[] {
  const causes: Cause[] = [];
  visitEmbedded(value, schema, base, (resource, path) => causes.push(...resourceFaults(resource, path)));
  return causes;
}

function resourceFaults(resource: Members, path: string): Cause[] {
  const field = (name: string) => (path === '' ? name : `${path}.${name}`);
  return [
    ...textFaults(resource['apiVersion'], field('apiVersion'), (text) =>
      text.split('/').length > 2 ? `unexpected GroupVersion string: ${text}` : undefined,
    ),
    ...textFaults(resource['kind'], field('kind'), (text) => {
      const faults = dnsLabel1035(text.toLowerCase());
      return faults.length === 0
        ? undefined
        : `may have mixed case, but should otherwise match: ${faults.join(',')}`;
    }),
    ...metadataFaults(resource['metadata'], field('metadata')),
  ];
}

function textFaults(
  value: unknown,
  field: string,
  fault: (text: string) => string | undefined,
): readonly Cause[] {
  if (value === undefined) return [required(field)];
  if (typeof value !== 'string') return [invalidValue(field, value, 'must be a string')];
  if (value === '') return [invalidValue(field, value, 'must not be empty')];
  const why = fault(value);
  return why === undefined ? [] : [invalidValue(field, value, why)];
}

function metadataFaults(metadata: unknown, field: string): readonly Cause[] {
  if (metadata === undefined) return [];
  try {
    const { object } = decodeModel<V1ObjectMeta>('V1ObjectMeta', metadata);
    const meta = { ...object, name: object.name || 'fakename' };
    return validateMeta(meta as V1ObjectMeta, {
      nameRule: 'pathSegment',
      namespaced: (meta.namespace ?? '') !== '',
    }).map((cause) => ({ ...cause, field: cause.field?.replace(/^metadata/, field) }));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [invalidValue(field, metadata, error.message)];
  }
}
