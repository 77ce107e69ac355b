// One transaction from many puts and removes, made and synced on a thread of its own.
// Guarantees: all of it or nothing, on disk when it resolves; a refused commit (a full disk) rejects with LMDB's reason.
import type { Tables } from './database.js';

/** `work` calls put and remove of the tables, and what they answer says nothing: only the whole succeeds or fails. */
export async function commit({ root }: Tables, work: () => void): Promise<void> {
  const done = root.batch(work);
  // The package would begin a turn of the event loop later; a second batch has it begin now, with both.
  root.batch(() => {});
  try {
    await done;
  } catch (error) {
    // The reason comes in a promise of its own, and one that nobody awaits would end the process.
    const { commitError } = error as { readonly commitError?: Promise<never> };
    await commitError;
    throw error;
  }
}
