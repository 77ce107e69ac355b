// Controllers at work on an API in memory.
// Guarantees: everything that was started has ended when the ending has resolved.
import { silentLog } from '../../../../src/api/log.js';
import { openInformers } from '../../../../src/client/sharedInformers.js';
import { type ControllersOptions, runControllers } from '../../../../src/controllers/run.js';
import type { FakeApi } from '../../../support/fakeApi.js';

/** Returns what ends them. */
export function startControllers(api: FakeApi, options: Partial<ControllersOptions>): () => Promise<void> {
  const ending = new AbortController();
  const informers = openInformers(api);
  const base = { client: api, informers, log: silentLog, signal: ending.signal, rootCa: '' };
  const ended = runControllers({ ...base, ...options });
  return async () => {
    ending.abort();
    informers.stop();
    await ended;
  };
}

/** For as long as a piece of work takes. */
export async function withControllers(
  api: FakeApi,
  enabled: readonly string[],
  work: () => Promise<void>,
  more: Partial<ControllersOptions> = {},
): Promise<void> {
  const end = startControllers(api, { enabled, ...more });
  try {
    await work();
  } finally {
    await end();
  }
}
