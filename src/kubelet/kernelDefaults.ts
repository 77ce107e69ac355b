// The kernel's settings that protectKernelDefaults demands: checked at the start, never changed.
// Guarantees: every setting that differs is named with what it is and what it must be.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { KubeletError } from './error.js';

const WANTED: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** Throws InvalidConfig unless all are as wanted. */
export async function requireKernelDefaults(sysctls = '/proc/sys'): Promise<void> {
  const faults = await Promise.all(
    Object.entries(WANTED).map(async ([name, wanted]) => {
      const found = (await readFile(path.join(sysctls, name), 'utf8').catch(() => 'missing')).trim();
      return found === wanted ? [] : [`${name} is ${found}, not ${wanted}`];
    }),
  );
  if (faults.flat().length > 0)
    throw new KubeletError('InvalidConfig', `protectKernelDefaults: ${faults.flat().join('; ')}`);
}
