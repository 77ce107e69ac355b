// protectKernelDefaults: the kernel is as wanted, or the kubelet says what is not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requireKernelDefaults } from '../../../src/kubelet/kernelDefaults.js';

let dir = '';
const set = (name: string, value: string) => {
  mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
  writeFileSync(path.join(dir, name), `${value}\n`);
};
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-sysctls-'));
  set('vm/overcommit_memory', '1');
  set('vm/panic_on_oom', '0');
  set('kernel/panic', '10');
  set('kernel/panic_on_oops', '1');
  set('kernel/keys/root_maxkeys', '1000000');
  set('kernel/keys/root_maxbytes', '25000000');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('is content with a kernel as Kubernetes wants it', async () => {
  await expect(requireKernelDefaults(dir)).resolves.toBeUndefined();
});

test('names every setting that differs', async () => {
  set('kernel/panic', '0');
  rmSync(path.join(dir, 'vm/overcommit_memory'));
  await expect(requireKernelDefaults(dir)).rejects.toThrow(
    'protectKernelDefaults: vm/overcommit_memory is missing, not 1; kernel/panic is 0, not 10',
  );
});
