// Writes an object together with what its kind's hook wants written.
// Guarantees: the object and its companions are there together or not at all, but for a second address of a Service, which
// is written first: what a crash leaves of it is found by the repair loop; no revision has two objects of a resource;
// when an answer is lost, nothing is taken back that the object may use.
import { statusError } from '../../api/status.js';
import { type Check, isRefused, type Store, StoreError, type Write } from '../../store/store.js';
import { NODE_PORT_CLAIMS, resourceOfKey } from './keys.js';

/**
 * Answers the revision of the object's own write. A refused companion is told by the error's key. With a term, nothing is
 * written once another has begun.
 */
export async function writeWith(
  store: Store,
  own: Write,
  companions: readonly Write[],
  term?: Check,
): Promise<number> {
  if (term === undefined) return writeTogether(store, own, companions, []);
  try {
    return await writeTogether(store, own, companions, [term]);
  } catch (error) {
    if (!(error instanceof StoreError) || error.key !== term.key) throw error;
    throw statusError('Timeout', 'the caller leads no more', {}, { cause: error });
  }
}

async function writeTogether(
  store: Store,
  own: Write,
  companions: readonly Write[],
  checks: readonly Check[],
): Promise<number> {
  if (companions.length === 0 && checks.length === 0) return writeOne(store, own);
  const { together, apart } = parted(own, companions);
  const ahead: Write[] = [];
  try {
    for (const write of apart) {
      if (write.verb === 'delete') continue;
      const expected = await writeOne(store, write);
      ahead.push({ verb: 'delete', key: write.key, expected });
    }
    // The object first: when both are refused, that its name is taken is the better reason.
    const [revision] = await store.transact([own, ...together, ...checks]);
    await Promise.all(apart.filter(({ verb }) => verb === 'delete').map((write) => undo(store, write)));
    return revision as number;
  } catch (error) {
    // Otherwise the object may be there, and use what was written ahead of it.
    if (isRefused(error)) await Promise.all(ahead.map((write) => undo(store, write)));
    throw error;
  }
}

/**
 * A transaction may be one revision, and whoever watches resumes behind the last revision it saw: of two changes of one
 * resource it could miss the second. So the second address of a Service goes before the Service, or after it.
 */
function parted(own: Write, companions: readonly Write[]) {
  const seen = new Set([resourceOfKey(own.key)]);
  const together: Write[] = [];
  const apart: Write[] = [];
  for (const write of companions) {
    const resource = resourceOfKey(write.key);
    (isWatched(resource) && seen.has(resource) ? apart : together).push(write);
    seen.add(resource);
  }
  return { together, apart };
}

const isWatched = (resource: string | undefined) => resource !== NODE_PORT_CLAIMS;

/** What is left when this fails is found by those who look for claims without an owner. */
async function undo(store: Store, write: Write): Promise<void> {
  await writeOne(store, write).catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error;
  });
}

function writeOne(store: Store, write: Write): Promise<number> {
  if (write.verb === 'create') return store.create(write.key, write.value);
  if (write.verb === 'update') return store.update(write.key, write.value, write.expected);
  return store.delete(write.key, write.expected);
}
