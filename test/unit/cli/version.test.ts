// What `trellis version` and an installation tell of themselves.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { gitVersion } from '../../../src/api/build.js';
import { trellisBuild, trellisVersion } from '../../../src/cli/version.js';
import { trellis } from '../../support/trellisCommand.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-version-'));
  mkdirSync(path.join(root, 'dist', 'src'), { recursive: true });
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ name: 'trellis', version: '1.2.3' }));
});
afterEach(() => rmSync(root, { recursive: true }));

const build = { commit: 'a'.repeat(40), treeState: 'clean', date: '2026-11-18T00:00:00Z' } as const;

test('a copy without a repository knows the commit that it was built from', () => {
  writeFileSync(path.join(root, 'dist', 'build.json'), JSON.stringify(build));
  expect(trellisBuild(path.join(root, 'dist', 'src'))).toEqual({ ...build, version: '1.2.3' });
});

test('a copy that was built from no repository says so', () => {
  expect(trellisBuild(path.join(root, 'dist', 'src'))).toMatchObject({ commit: '', version: '1.2.3' });
});

test('trellis version tells version, Kubernetes level, commit and Node, as text and as JSON', async () => {
  const { version, commit } = trellisBuild();
  expect(version).toBe(trellisVersion());
  const { out: text } = await trellis(['version']);
  expect(text.split('\n')).toEqual([
    `trellis ${version}`,
    'Kubernetes v1.36.0',
    expect.stringContaining(commit === '' ? 'unknown' : commit),
    `Node ${process.version}`,
    '',
  ]);
  const { out: json } = await trellis(['version', '-o', 'json']);
  expect(JSON.parse(json)).toMatchObject({
    version,
    kubernetes: 'v1.36.0',
    commit,
    node: process.version,
  });
});

test.each([
  ['0.2.0', 'v1.36.0+trellis.0.2.0'],
  ['', 'v1.36.0+trellis'],
])('the version %j as Kubernetes writes it is %s', (version, written) => {
  expect(gitVersion({ version })).toBe(written);
  // As k8s.io/apimachinery reads it: kubectl compares only what is before the plus.
  expect(written).toMatch(/^v\d+\.\d+\.\d+(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/);
});
