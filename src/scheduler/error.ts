// What can go wrong in the scheduler, by code.
// Guarantees: every error that this room throws on purpose is one of these.
import { CodedError } from '../base/codedError.js';

export class SchedulerError extends CodedError<'TIMEOUT' | 'CONFIG' | 'VOLUME' | 'EXTENDER'> {
  override readonly name = 'SchedulerError';
}
