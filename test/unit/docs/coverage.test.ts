// docs/coverage.md: every row says where its subject lives and which test shows it, or that there is nothing yet.
// Guarantees: a path that it names exists; what is built has a test; no subject stands twice.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const rows = readFileSync('docs/coverage.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!subject )/.test(line) && !line.startsWith('|---'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const pathsOf = (cell: string) => [...cell.matchAll(/`([\w./-]+\/[\w./-]+)`/g)].map(([, file = '']) => file);

test('the page is read', () => {
  expect(rows.length).toBeGreaterThan(100);
  const subjects = rows.map(([subject]) => subject);
  expect(new Set(subjects).size).toBe(subjects.length);
});

describe.each(rows)('%s', (_, where = '', shown = '') => {
  test('names only what is there', () => {
    expect([...pathsOf(where), ...pathsOf(shown)].filter((file) => !existsSync(file))).toEqual([]);
  });

  test('has a test, or says that it is not yet, dropped or brought along', () => {
    if (pathsOf(where).length > 0) {
      expect(pathsOf(shown)).toHaveLength(1);
      expect(pathsOf(shown)[0]).toMatch(/^test\//);
    } else {
      expect(where).toMatch(
        /not yet|dropped by Kubernetes|run as they do elsewhere|runs beside it|the stock ones/,
      );
    }
  });
});
