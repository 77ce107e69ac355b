// `npm run test:stock`: how it is told where the programs are, and the table it ends with.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { binariesFault, matrixTable, parseStockArguments } from '../../../../scripts/lib/stock.mjs';

test.each([
  [[], {}, { binaries: '', help: false, vitestArgs: [] }],
  [['--help'], {}, { binaries: '', help: true, vitestArgs: ['--help'] }],
  [
    ['-t', 'kubelet'],
    { TRELLIS_STOCK: '/e' },
    { binaries: '/e', help: false, vitestArgs: ['-t', 'kubelet'] },
  ],
  [['--binaries=/b'], { TRELLIS_STOCK: '/e' }, { binaries: '/b', help: false, vitestArgs: [] }],
])('%j with %j', (args, env, expected) => {
  expect(parseStockArguments(args, env)).toEqual(expected);
});

test('without the programs it says what is missing', () => {
  expect(binariesFault('')).toContain('say where they are');
  expect(binariesFault('here')).toBe('here is not an absolute path.');
  const folder = mkdtempSync(path.join(tmpdir(), 'stock-'));
  try {
    const names = 'kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl'.split(
      ' ',
    );
    for (const name of names) writeFileSync(path.join(folder, name), '', { mode: 0o755 });
    expect(binariesFault(folder)).toBeUndefined();
    chmodSync(path.join(folder, 'kubelet'), 0o644);
    // Root may run what anybody may; a file that nobody may is missing.
    rmSync(path.join(folder, 'kubectl'));
    expect(binariesFault(folder)).toBe(`${folder} lacks kubelet, kubectl.`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the table has a row per test', () => {
  const assertionResults = [
    { ancestorTitles: ['on the API server of stock'], title: 'kubelet of trellis', status: 'passed' },
    {
      ancestorTitles: ['on the API server of stock', 'proxy handed over'],
      title: 'and back',
      status: 'failed',
    },
  ];
  expect(matrixTable({ testResults: [{ assertionResults }] }).split('\n')).toEqual([
    'server                      part                        outcome',
    'on the API server of stock  kubelet of trellis          passed',
    'on the API server of stock  proxy handed over and back  failed',
  ]);
});
