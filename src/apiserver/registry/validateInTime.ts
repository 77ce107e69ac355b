// Validates an object before it is written, without blocking other requests.
// Guarantees: the same errors whichever thread finds them.
import { performance } from 'node:perf_hooks';
import type { Causes } from '../../api/causes.js';
import { validateObject } from '../../api/meta.js';
import type { KubeObject } from '../../api/object.js';
import { TooMuchWork, withinLimit } from '../../api/workLimit.js';
import type { ServerContext } from '../serverContext.js';
import type { WriteContext } from './admit.js';

/** Some 20 ms at worst. */
export const CHECK_LIMIT = { units: 200_000, ms: 15, now: () => performance.now() };

/** `old` is undefined when the object is new. */
export function validateInTime(
  { slowChecks }: Pick<ServerContext, 'slowChecks'>,
  { kind, user }: Pick<WriteContext, 'kind' | 'user'>,
  object: KubeObject,
  old?: KubeObject,
): Promise<Causes> | Causes {
  if (kind.mayTakeLong !== true) return validateObject(kind, object, old);
  try {
    return withinLimit(CHECK_LIMIT, () => validateObject(kind, object, old));
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error;
    return slowChecks.run(user.name, { kind, object, old });
  }
}
