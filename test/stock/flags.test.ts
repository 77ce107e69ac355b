// The flags that the programs of stock Kubernetes tell in their own help, held against ours.
// Guarantees: a flag that a newer release brings is named here as soon as its programs are given.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { loadCommands } from '../../src/cli/program.js';
import { SILENT } from '../support/pages/commands.js';

const execute = promisify(execFile);
const STOCK = process.env['TRELLIS_STOCK'] ?? '';

test.each([
  ['kube-apiserver', 'apiserver'],
  ['kube-controller-manager', 'controller-manager'],
  ['kube-scheduler', 'scheduler'],
  ['kubelet', 'kubelet'],
  ['kube-proxy', 'proxy'],
])('every flag of %s is known', async (program, ours) => {
  const { stdout, stderr } = await execute(path.join(STOCK, program), ['--help']);
  const told = [...`${stdout}${stderr}`.matchAll(/^\s+(?:-\w, )?--([a-z0-9-]+)/gm)].map(
    ([, name]) => `--${name}`,
  );
  expect(told.length).toBeGreaterThan(40);
  const [make] = await loadCommands(ours);
  const known = new Set(['--help', ...(make?.(SILENT).options ?? []).map(({ long }) => long)]);
  expect(told.filter((name) => !known.has(name))).toEqual([]);
});
