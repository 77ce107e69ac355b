// On a kernel without IPVS the opening says so, and what to do.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openIpvs } from '../../../src/kernel/ipvs/adapter.js';

test('says that ip_vs is missing where it is', async () => {
  const outcome = await openIpvs().then(
    (port) => {
      port.close();
      return undefined;
    },
    (error: { code: string; message: string }) => error,
  );
  if (outcome === undefined) expect(existsSync('/proc/net/ip_vs')).toBe(true);
  else
    expect(outcome).toMatchObject({
      code: 'EOPNOTSUPP',
      message: expect.stringContaining('this kernel has no ip_vs; load the module ip_vs'),
    });
});
