// The trees of the native core: walked by descriptors, on threads of its own.
// Guarantees: the event loop turns meanwhile, and no libuv thread is taken.
import { addon } from '../addon.js';
import { KernelError } from '../error.js';
import type { TreePort } from './port.js';

export function openTrees(): TreePort {
  return {
    remove: (path) => told(() => addon().removeTree(path)),
    measure: (path) => told(() => addon().measureTree(path)),
    own: (path, wanted) => told(() => addon().ownTree(path, wanted)),
  };
}

async function told<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw KernelError.from(error);
  }
}
