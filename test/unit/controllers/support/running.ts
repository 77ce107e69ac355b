// Controllers by name on an API in memory, for as long as a piece of work takes.
// Guarantees: everything it started has ended when it resolves.
import { silentLog } from '../../../../src/api/log.js';
import { openInformers } from '../../../../src/client/sharedInformers.js';
import { type ControllersOptions, runControllers } from '../../../../src/controllers/run.js';
import type { FakeApi } from '../../../support/fakeApi.js';

export async function withControllers(
  api: FakeApi,
  enabled: readonly string[],
  work: () => Promise<void>,
  more: Partial<ControllersOptions> = {},
): Promise<void> {
  const ending = new AbortController();
  const informers = openInformers(api);
  const base = { client: api, informers, log: silentLog, signal: ending.signal, rootCa: '' };
  const ended = runControllers({ ...base, enabled, ...more });
  try {
    await work();
  } finally {
    ending.abort();
    informers.stop();
    await ended;
  }
}
