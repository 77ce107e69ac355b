// One address family after another: the trouble of one is not the other's.
/** What was sent in all; throws the first failure after every family has had its turn. */
export async function syncEach<Family>(
  families: readonly Family[],
  syncOne: (family: Family) => Promise<number>,
): Promise<{ readonly sent: number }> {
  const errors: unknown[] = [];
  let sent = 0;
  for (const family of families)
    sent += await syncOne(family).catch((error: unknown) => {
      errors.push(error);
      return 0;
    });
  if (errors.length > 0) throw errors[0];
  return { sent };
}
