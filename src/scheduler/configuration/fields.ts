// The reader of the scheduler's configuration, and its refusals.
// Guarantees: every refusal has the code CONFIG and the path of the field.
import { ConfigFields } from '../../base/configFields.js';
import { SchedulerError } from '../error.js';

export const fieldsOf = (raw: unknown, path = ''): ConfigFields => new ConfigFields(raw, wrong, path);

export function wrong(path: string, what: string): SchedulerError {
  return new SchedulerError('CONFIG', `${path === '' ? 'the configuration' : path}: ${what}`);
}
