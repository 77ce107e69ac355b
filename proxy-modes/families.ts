// One address family after another: the trouble of one is not the other's.
import type { PerFamily, SyncReport, TrafficOptions } from './mode.js';

/** Each family's options with those of the ranges that are its own. */
export const withServiceCidrs = (
  traffic: PerFamily<TrafficOptions>,
  cidrs: readonly string[],
): PerFamily<TrafficOptions> => ({
  ip: { ...traffic.ip, serviceCidrs: cidrs.filter((cidr) => !cidr.includes(':')) },
  ip6: { ...traffic.ip6, serviceCidrs: cidrs.filter((cidr) => cidr.includes(':')) },
});

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
