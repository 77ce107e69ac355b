// A limit on waiting for a server that may never answer.
// Guarantees: leaves no timer behind; a late failure of the work is nobody's unhandled rejection.
import { SchedulerError } from './error.js';

export async function within<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const late = () =>
      reject(new SchedulerError('TIMEOUT', `${what} was not answered within ${limitMs / 1000} s`));
    timer = setTimeout(late, limitMs);
  });
  work.catch(() => {});
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
