// A cluster of one node for a benchmark: `trellis up` in a network namespace of its own, measured from inside it.
// Guarantees: cluster, namespace and files are gone afterwards, also when measuring fails.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { benchNetNs, removeNetNs } from '../lib/tool.js';

const execute = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

interface OneNode {
  readonly dataDir: string;
  /** From the start of `trellis up` until it said that the node is Ready. */
  readonly readyMs: number;
  /** Runs `trellis` with these words and this cluster. */
  trellis(...words: string[]): Promise<string>;
  /** Runs a program of ours in the cluster's namespace, with these words and the data directory. */
  inside(program: URL, ...words: string[]): Promise<string>;
}

export async function inCluster<T>(
  measure: (cluster: OneNode) => Promise<T>,
  flags: string[] = [],
): Promise<T> {
  const netns = await benchNetNs();
  const directory = mkdtempSync(path.join(tmpdir(), 'trellis-bench-cluster-'));
  const dataDir = path.join(directory, 'data');
  const node = async (...words: string[]) =>
    (await execute('nsenter', [`--net=${netns}`, process.execPath, ...words], { maxBuffer: 1 << 26 })).stdout;
  const trellis = ([command = '', ...words]: string[]) =>
    node(MAIN, command, '--data-dir', dataDir, ...words);
  try {
    await makeHost(netns);
    const start = performance.now();
    await trellis(['up', '--detach', ...flags]);
    const readyMs = performance.now() - start;
    return await measure({
      dataDir,
      readyMs,
      trellis: (...words) => trellis(words),
      inside: (program, ...words) => node(fileURLToPath(program), ...words, dataDir),
    });
  } finally {
    await trellis(['down', '--purge']).catch((error: unknown) => console.error(error));
    await removeNetNs(netns);
    rmSync(directory, { recursive: true, force: true });
  }
}

/** As hosts are: a device with an address, and a way out that nobody answers on. */
async function makeHost(netns: string): Promise<void> {
  const route = await openRoute(netns);
  await route.apply([
    { do: 'change', kind: 'link', name: 'lo', up: true },
    { do: 'add', kind: 'link', name: 'eth0', type: 'veth', up: true, peer: { name: 'far' } },
    { do: 'change', kind: 'link', name: 'far', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '192.168.99.1/24' },
    { do: 'add', kind: 'route', gateway: '192.168.99.254' },
  ]);
  route.close();
}
