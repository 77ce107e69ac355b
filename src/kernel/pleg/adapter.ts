// The generator of the native core: protobuf is read and compared on a libuv thread.
// Guarantees: JavaScript sees changed pods only, however many the node runs.
import { addon } from '../addon.js';
import { KernelError } from '../error.js';
import type { ChangedPod, PlegPort } from './port.js';

/** Begins with an empty record: the first relist tells every container. */
export function openPleg(): PlegPort {
  const core = addon().openPleg();
  return {
    async relist(sandboxes, containers) {
      try {
        const { changed, token } = await core.diff(sandboxes, containers);
        return {
          changed: JSON.parse(changed.toString()) as ChangedPod[],
          commit: () => core.commit(token),
        };
      } catch (error) {
        throw KernelError.from(error);
      }
    },
    pods: () => JSON.parse(core.pods().toString()) as string[],
  };
}
