// A limit on waiting for a server that may never answer.
// Guarantees: rejects with the code TIMEOUT when the time is over.
import { within } from '../base/deadline.js';
import { SchedulerError } from './error.js';

export const answeredWithin = <T>(work: Promise<T>, limitMs: number, what: string): Promise<T> =>
  within(work, limitMs, () => {
    throw new SchedulerError('TIMEOUT', `${what} was not answered within ${limitMs / 1000} s`);
  });
