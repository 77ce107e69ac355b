// Network namespaces pinned at a path, as `ip netns` keeps them.
// Guarantees: a failed create leaves nothing behind; removing what is not there is success.
import { addon } from './addon.js';
import { KernelError } from './error.js';

/** Makes a namespace and pins it at `path`, whose directory must exist (/run/netns is made). EEXIST if it is taken. */
export async function createNetNs(path: string): Promise<void> {
  try {
    await addon().createNetNs(path);
  } catch (error) {
    throw KernelError.from(error);
  }
}

/** Unpins the namespace; it ends with its last process and socket. */
export async function removeNetNs(path: string): Promise<void> {
  try {
    await addon().removeNetNs(path);
  } catch (error) {
    throw KernelError.from(error);
  }
}
