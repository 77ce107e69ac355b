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
import type { Job, Measured } from './inside.js';

const execute = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const INSIDE = fileURLToPath(new URL('./inside.js', import.meta.url));

/** Runs one job of inside.ts in a fresh cluster and answers what it measured. */
export async function inCluster(job: Job): Promise<Measured> {
  const netns = await benchNetNs();
  const directory = mkdtempSync(path.join(tmpdir(), 'trellis-bench-kubelet-'));
  const dataDir = path.join(directory, 'data');
  const node = (...words: string[]) =>
    execute('nsenter', [`--net=${netns}`, process.execPath, ...words], { maxBuffer: 1 << 26 });
  try {
    await makeHost(netns);
    await node(MAIN, 'up', '--detach', '--data-dir', dataDir);
    const { stdout } = await node(INSIDE, job, dataDir);
    return JSON.parse(stdout) as Measured;
  } finally {
    await node(MAIN, 'down', '--purge', '--data-dir', dataDir).catch((error: unknown) =>
      console.error(error),
    );
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
