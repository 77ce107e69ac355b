// Everything that reads an object and writes what it made of it: in turn by key, and again when another was faster.
// Guarantees: writers of one object in this process do not refuse one another; those of other servers are met with another
// try, until the request has lasted too long; a caller that has gone away writes nothing more.
import { conflict, notFound, statusError } from '../../api/status.js';
import { pause } from '../../base/deadline.js';
import { StoreError } from '../../store/store.js';
import type { ServerContext } from '../serverContext.js';
import type { WriteContext } from './admit.js';
import type { CachedObject } from './cached.js';
import { objectKey } from './keys.js';

export const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';
/** As long as a request of Kubernetes may last. */
const DEADLINE_MS = 60_000;
/** What else a write needs, such as an address, is chosen anew so often. */
const COMPANION_ATTEMPTS = 10;
/** From then on the others, on other servers, are given some time. */
const QUICK_ATTEMPTS = 5;
const PAUSE_MS = 20;

export function readAndWrite<T>(
  server: ServerContext,
  context: WriteContext,
  attempt: (held: CachedObject) => Promise<T>,
): Promise<T> {
  const { kind, namespace, name, dryRun } = context;
  const work = () => tries(server, context, attempt);
  return dryRun ? work() : server.turns.run(objectKey(kind.type, namespace, name), work);
}

async function tries<T>(
  server: ServerContext,
  context: WriteContext,
  attempt: (held: CachedObject) => Promise<T>,
): Promise<T> {
  const { kind, name } = context;
  const deadline = performance.now() + DEADLINE_MS;
  for (let tried = 1; ; tried += 1) {
    checkCaller(context);
    const held = await readCurrent(server, context);
    try {
      return await attempt(held);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const isOwn = error.key === held.key;
      if (error.code === 'MISSING' && isOwn) throw notFound(kind.type, name);
      if (!isLate(error)) throw error;
      const isOver = isOwn ? performance.now() >= deadline : tried >= COMPANION_ATTEMPTS;
      if (isOver) throw conflict(kind.type, name, MODIFIED);
      if (tried > QUICK_ATTEMPTS) await pause(Math.random() * PAUSE_MS);
    }
  }
}

/** Called last before a write: whoever closed its client counts on nothing being written from then on. */
export function checkCaller({ request }: Pick<WriteContext, 'request'>): void {
  if (request?.isAllowed?.() === false) throw statusError('Timeout', 'the caller has gone away');
}

/** True when what the write was made of had changed by then, its companions included: another look is worth it. */
function isLate({ code }: StoreError): boolean {
  return code === 'CONFLICT' || code === 'MISSING' || code === 'EXISTS';
}

/** The newest version there is; a read that were older could refuse what is right. */
export async function readCurrent(
  { feed }: ServerContext,
  { kind, name, namespace }: Pick<WriteContext, 'kind' | 'name' | 'namespace'>,
): Promise<CachedObject> {
  await feed.current();
  const held = feed.cacheOf(kind).get(objectKey(kind.type, namespace, name));
  if (held === undefined) throw notFound(kind.type, name);
  return held;
}
