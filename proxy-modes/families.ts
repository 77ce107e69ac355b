// One address family after another: the trouble of one is not the other's.
import type { SyncReport } from '../src/proxy/state.js';

/** What was sent and left out in all (a number alone: what was sent); throws the first failure after every family has had its turn. */
export async function syncEach<Family>(
  families: readonly Family[],
  syncOne: (family: Family) => Promise<SyncReport | number>,
): Promise<SyncReport> {
  const errors: unknown[] = [];
  const failed = new Map<string, unknown>();
  let sent = 0;
  for (const family of families) {
    const report = await syncOne(family).catch((error: unknown) => {
      errors.push(error);
      return 0;
    });
    if (typeof report === 'number') {
      sent += report;
      continue;
    }
    sent += report.sent;
    for (const [key, error] of report.failed ?? []) failed.set(key, error);
  }
  if (errors.length > 0) throw errors[0];
  return { sent, failed };
}
