// The options of lists and watches that only go with one another. Pure.
// Guarantees: what does not belong where it is said is refused, in Kubernetes' words, before anything is read.
import type { V1StatusCause } from '../../api/gen/types.js';
import { invalid } from '../../api/status.js';

const MATCH = 'resourceVersionMatch';
const INITIAL = 'sendInitialEvents';
const NOT_OLDER = 'NotOlderThan';
const EXACT = 'Exact';

export function checkListOptions(query: URLSearchParams): void {
  const match = query.get(MATCH) ?? '';
  const revision = query.get('resourceVersion') ?? '';
  const faults: V1StatusCause[] = [];
  if (match !== '') {
    if (revision === '') {
      faults.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    faults.push(...faultsWithContinue(query));
    if (match !== EXACT && match !== NOT_OLDER) faults.push(unsupported(match, [EXACT, NOT_OLDER, '']));
    if (match === EXACT && revision === '0') {
      faults.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (query.has(INITIAL)) faults.push(forbidden(INITIAL, 'sendInitialEvents is forbidden for list'));
  refuse(faults);
}

export function checkWatchOptions(query: URLSearchParams): void {
  const match = query.get(MATCH) ?? '';
  const faults: V1StatusCause[] = [];
  if (query.has(INITIAL) && match !== NOT_OLDER) {
    faults.push(forbidden(MATCH, `sendInitialEvents requires setting resourceVersionMatch to ${NOT_OLDER}`));
  }
  if (match !== '') {
    if (!query.has(INITIAL)) {
      const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
      faults.push(forbidden(MATCH, why));
    }
    if (match !== NOT_OLDER) faults.push(unsupported(match, [NOT_OLDER]));
    faults.push(...faultsWithContinue(query));
  }
  refuse(faults);
}

function faultsWithContinue(query: URLSearchParams): V1StatusCause[] {
  if ((query.get('continue') ?? '') === '') return [];
  return [forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided')];
}

function refuse(faults: readonly V1StatusCause[]): void {
  if (faults.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', faults);
}

const forbidden = (field: string, why: string): V1StatusCause => ({
  field,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
});

function unsupported(match: string, supported: readonly string[]): V1StatusCause {
  const names = supported.map((name) => JSON.stringify(name)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(match)}: supported values: ${names}`;
  return { field: MATCH, reason: 'FieldValueNotSupported', message };
}
