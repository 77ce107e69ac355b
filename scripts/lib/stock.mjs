// What scripts/stock.mjs is told, what is missing of it, and the table that it ends with.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

const PARTS = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
];
const FLAG = '--binaries=';

export const STOCK_USAGE = `usage: npm run test:stock -- --binaries=DIR [arguments]

Runs the parts of stock Kubernetes v1.36 and of Trellis together: each on the API server of the other, then handed over and
back under load. DIR, or TRELLIS_STOCK in the environment, is a directory with ${PARTS.join(', ')}:
unpack the server archive of a release, or build them from its source with "make". etcd and containerd are the machine's own.
The arguments go to vitest: -t kubelet
`;

/** Leading flags are ours; the rest goes to vitest as it is. */
export function parseStockArguments(args, env) {
  const given = args.find((arg) => arg.startsWith(FLAG))?.slice(FLAG.length);
  return {
    binaries: given ?? env.TRELLIS_STOCK ?? '',
    help: args.includes('--help'),
    vitestArgs: args.filter((arg) => !arg.startsWith(FLAG)),
  };
}

/** What is missing, or undefined. */
export function binariesFault(directory) {
  if (directory === '') return 'The programs of stock Kubernetes are needed: say where they are.';
  if (!path.isAbsolute(directory)) return `${directory} is not an absolute path.`;
  const missing = PARTS.filter((name) => !isProgram(path.join(directory, name)));
  return missing.length === 0 ? undefined : `${directory} lacks ${missing.join(', ')}.`;
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What the server there says of itself, such as "Kubernetes v1.36.4". */
export function stockVersion(directory) {
  const { stdout } = spawnSync(path.join(directory, 'kube-apiserver'), ['--version'], { encoding: 'utf8' });
  return (stdout ?? '').trim() || 'programs of an unknown version';
}

/** Of vitest's JSON report: a row per test, in the order in which they ran. */
export function matrixTable({ testResults }) {
  const rows = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status }) => [
      ancestorTitles[0] ?? '',
      [...ancestorTitles.slice(1), title].join(' '),
      status,
    ]),
  );
  const all = [['server', 'part', 'outcome'], ...rows];
  const width = (at) => Math.max(...all.map((row) => row[at].length));
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(width(at)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
