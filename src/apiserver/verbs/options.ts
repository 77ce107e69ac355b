// The options that a request carries in its query: dry run, field validation, deletion. Pure.
// Guarantees: an option that is not understood is refused, never ignored: a dry run must not write.
import type { V1DeleteOptions } from '../../api/gen/types.js';
import { statusError } from '../../api/status.js';

type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export function isDryRun(query: URLSearchParams): boolean {
  return checkDryRun(query.getAll('dryRun').filter((value) => value !== ''));
}

function checkDryRun(values: readonly string[]): boolean {
  for (const value of values) {
    if (value === 'All') continue;
    const message = `dryRun: Unsupported value: ${JSON.stringify(value)}: supported values: "All"`;
    throw statusError('BadRequest', message);
  }
  return values.length > 0;
}

export function fieldValidation(query: URLSearchParams): FieldValidation {
  const value = query.get('fieldValidation') ?? '';
  if (value === '') return 'Warn';
  if (value === 'Strict' || value === 'Warn' || value === 'Ignore') return value;
  const message = `fieldValidation: Unsupported value: ${JSON.stringify(value)}: supported values: "", "Ignore", "Strict", "Warn"`;
  throw statusError('BadRequest', message);
}

interface DeleteRequest {
  readonly options: V1DeleteOptions;
  readonly dryRun: boolean;
}

/** The body, if one was sent, comes before the query. */
export function deleteRequest(body: V1DeleteOptions | undefined, query: URLSearchParams): DeleteRequest {
  const options = body ?? optionsInQuery(query);
  const policy = options.propagationPolicy;
  if (policy !== undefined && !['Foreground', 'Background', 'Orphan'].includes(policy)) {
    throw statusError('BadRequest', `invalid propagationPolicy: ${JSON.stringify(policy)}`);
  }
  if (policy !== undefined && options.orphanDependents !== undefined) {
    throw statusError('BadRequest', 'orphanDependents and deletionPropagation cannot be both set');
  }
  const dryRun = checkDryRun(options.dryRun ?? []) || isDryRun(query);
  return { options, dryRun };
}

function optionsInQuery(query: URLSearchParams): V1DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  const orphan = query.get('orphanDependents');
  if (grace !== null && !/^-?\d{1,9}$/.test(grace)) {
    throw statusError('BadRequest', `gracePeriodSeconds: Invalid value: ${JSON.stringify(grace)}`);
  }
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null || policy === '' ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: orphan === 'true' || orphan === '1' }),
  };
}
