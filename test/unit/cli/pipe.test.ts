// The real command in a real pipe.
// Guarantees: a reader that goes away is no error, and nothing is printed about it.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MAIN = 'dist/src/cli/main.js';

test('trellis doctor | head -1 ends quietly', () => {
  const script = `set -o pipefail; "${process.execPath}" ${MAIN} doctor | head -1`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect(stdout).toBe('Machine\n');
  expect(stderr).toBe('');
});
