// What `trellis snapshot` does: save, restore, status.
// Guarantees: progress on anything over a second; refusals are StoreErrors and ClusterErrors.
import { readSettings } from '../cluster/settings.js';
import { openEtcdStore } from '../store/etcd/store.js';
import type { EtcdStoreOptions } from '../store/etcd/target.js';
import { type EtcdPlace, etcdOptions } from '../store/openStore.js';
import { checkSnapshotFile, type SnapshotSummary, writeSnapshotFile } from '../store/snapshot/file.js';
import { restoreSnapshot } from '../store/snapshot/restore.js';
import { lmdbSource, storeSource } from '../store/snapshot/source.js';
import { existingLayout } from './cluster/options.js';
import { progressLine } from './progressLine.js';
import type { Terminal } from './terminal.js';

export interface PlaceFlags extends EtcdPlace {
  readonly dataDir: string;
  readonly force?: boolean;
}

export async function save(terminal: Terminal, file: string, flags: PlaceFlags): Promise<void> {
  const progress = progressLine(terminal, 'keys');
  const etcd = await etcdOf(flags);
  const source =
    etcd === undefined
      ? lmdbSource(existingLayout(flags).storeDir)
      : await storeSource(await openEtcdStore({ ...etcd, historyMs: 0 }));
  try {
    const replace = flags.force === true;
    const summary = await writeSnapshotFile(file, source, { replace, now: Date.now(), progress });
    terminal.write(`Saved to ${file}\n${describe(summary)}`);
  } finally {
    await source.close();
  }
}

export async function restore(terminal: Terminal, file: string, flags: PlaceFlags): Promise<void> {
  const etcd = await etcdOf(flags);
  const target = etcd === undefined ? { folder: existingLayout(flags).storeDir } : { etcd };
  const force = flags.force === true;
  const progress = progressLine(terminal, 'keys');
  const { restoredRevision, ...summary } = await restoreSnapshot(file, target, { force, progress });
  terminal.write(`Restored ${file}; the store is at revision ${restoredRevision}\n${describe(summary)}`);
}

export async function status(terminal: Terminal, file: string): Promise<void> {
  terminal.write(describe(await checkSnapshotFile(file, progressLine(terminal, 'bytes'))));
}

/** As the flags say; else as the cluster in the data directory was made. Undefined is LMDB. */
async function etcdOf(flags: PlaceFlags): Promise<EtcdStoreOptions | undefined> {
  if (flags.etcdServers !== undefined) return etcdOptions(flags);
  return etcdOptions((await readSettings(existingLayout(flags))) ?? {});
}

function describe({ revision, keys, bytes, hash, timeMs }: SnapshotSummary): string {
  const rows = [
    ['revision', String(revision)],
    ['keys', String(keys)],
    ['size', `${bytes} bytes`],
    ['sha256', hash],
    ['taken', new Date(timeMs).toISOString()],
  ];
  return rows.map(([name = '', value]) => `  ${name.padEnd(9)}${value}\n`).join('');
}
