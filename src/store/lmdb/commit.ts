// One transaction from many puts and removes, on disk when it returns.
// Guarantees: all of it or nothing; a refused commit (a full disk) is thrown with LMDB's reason.
import type { Tables } from './database.js';

/**
 * On this thread, although the package can commit on another: a commit that fails there rejects promises of the package's
 * own that nobody can catch, and a full disk would end the process.
 */
export function commit({ root }: Tables, work: () => void): void {
  root.transactionSync(work);
}
