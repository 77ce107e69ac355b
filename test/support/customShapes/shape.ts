// A definition as a known project makes one, with objects that it takes and objects that it refuses.
// Guarantees: written from the project's documentation; names and texts are our own.
import type { V1JSONSchemaProps } from '../../../src/api/gen/types.js';

export type Schema = V1JSONSchemaProps;

interface Refusal {
  readonly spec: object;
  /** Of the answer, as Kubernetes says it. */
  readonly words: string;
}

export interface CustomShape {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly schema: Schema;
  readonly version?: object;
  readonly good: object;
  readonly refused: readonly Refusal[];
  /** A change of a good object that is refused. */
  readonly refusedChange?: { readonly patch: object; readonly words: string };
  /** A field, and what is explained of it. */
  readonly explained: readonly [string, string];
}

export const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
});
export const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more });
export const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});
export const mapOf = (value: Schema): Schema => ({ type: 'object', additionalProperties: value });

export const conditions = list(
  object(
    {
      type: text('What it is about.'),
      status: text('Whether it is so.', { enum: ['True', 'False', 'Unknown'] }),
      lastTransitionTime: text('Since when.', { format: 'date-time' }),
      reason: text('Why, in a word.'),
      message: text('Why, in a sentence.'),
    },
    { required: ['type', 'status'] },
  ),
  { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
);
