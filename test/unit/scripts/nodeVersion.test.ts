// The lowest Node that Trellis runs on is one version, wherever it is told.
// Guarantees: package.json, README and doctor agree.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { tools } from '../../../src/doctor/checks/tools.js';

const text = (name: string) => readFileSync(path.resolve(import.meta.dirname, '../../..', name), 'utf8');
const lowest = /^>=(\d+\.\d+)\.0$/.exec(JSON.parse(text('package.json')).engines.node)?.[1] ?? 'none';

test('the README names the version of package.json, and no other as the lowest', () => {
  const [, row = ''] = /^\| Node \| (.*) \|$/m.exec(text('README.md')) ?? [];
  expect(row.match(/[\d.]+ or newer/g)).toEqual([`${lowest} or newer`]);
});

test('doctor names the same', () => {
  const row = tools.find(({ id }) => id === 'tool-node');
  expect(row?.purpose).toContain(`${lowest} or newer`);
});
