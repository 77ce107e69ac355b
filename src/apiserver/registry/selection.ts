// Which objects a request means: its label and field selectors, compiled once. Pure.
// Guarantees: a bad selector is a BadRequest before anything is read.
import type { KindDefinition } from '../../api/kind.js';
import { compileFieldSelector, parseLabelSelector } from '../../api/selectors.js';
import { ApiError, statusError } from '../../api/status.js';
import type { CachedObject, Summary } from './cached.js';

export interface Selection {
  /** True when no selector was given, so nothing need be looked at. */
  readonly everything: boolean;
  matches(object: CachedObject): boolean;
}

export const EVERYTHING: Selection = { everything: true, matches: () => true };

const CLUSTER_WIDE = ['metadata.name'];
const NAMESPACED = [...CLUSTER_WIDE, 'metadata.namespace'];

export function selectionOf(kind: KindDefinition, query: URLSearchParams): Selection {
  const labelText = query.get('labelSelector') ?? '';
  const fieldText = query.get('fieldSelector') ?? '';
  if (labelText === '' && fieldText === '') return EVERYTHING;
  const labels = parseLabelSelector(labelText);
  const offered = kind.fields;
  // The summary carries its fields; an empty object is what the compiler asks with to learn what is offered.
  const fields = compileFieldSelector<Summary>(fieldText, {
    ...(offered === undefined ? {} : { fields: (summary) => summary.fields ?? offered({}) }),
    ...(kind.custom === undefined ? {} : { identity: kind.type.namespaced ? NAMESPACED : CLUSTER_WIDE }),
  });
  return {
    everything: false,
    matches: ({ summary }) => labels(summary.labels) && fields.matches(summary),
  };
}

/** A revision given by a client; undefined when absent, 0 means any. */
export function parseRevision(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const revision = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(revision)) {
    const shown = JSON.stringify(text);
    const why = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
    throw statusError(
      'BadRequest',
      `invalid resource version: resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: ${why}`,
    );
  }
  return revision;
}

export function tooLarge(wanted: number, current: number): ApiError {
  const { status } = statusError('Timeout', `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
  return new ApiError(status);
}
