// What can be wrong with an expression: its text, its types, or what happened while it ran.
// Guarantees: a closed set of codes; errors of text and types say where, in the form that Kubernetes' users know.
import { CodedError } from '../base/codedError.js';

type CelErrorCode = 'SYNTAX' | 'TYPE' | 'EVALUATION' | 'NO_OVERLOAD' | 'COST';

export class CelError extends CodedError<CelErrorCode> {
  override readonly name = 'CelError';
}

export const evaluationError = (message: string): CelError => new CelError('EVALUATION', message);

/** `ERROR: <input>:1:6: undefined field 'z'` with the line and a mark below it. Offsets count UTF-16 units. */
export function located(source: string, offset: number, message: string): string {
  const before = source.slice(0, offset);
  const line = before.split('\n').length;
  const start = before.lastIndexOf('\n') + 1;
  const end = source.indexOf('\n', start);
  const text = source.slice(start, end < 0 ? undefined : end);
  const column = offset - start;
  return `ERROR: <input>:${line}:${column + 1}: ${message}\n | ${text}\n | ${'.'.repeat(column)}^`;
}
