// Restores a snapshot file: checked from end to end first, then written to LMDB or etcd.
// Guarantees: a damaged file changes nothing; what is there already is replaced only when that was asked for.
import { type EtcdStoreOptions, openEtcdTarget } from '../etcd/target.js';
import type { Entry } from '../store.js';
import { checkSnapshotFile, type Progress, type SnapshotSummary, snapshotEntries } from './file.js';
import { notEmpty, restoreToLmdb } from './lmdbTarget.js';

export interface RestoreOptions {
  readonly header: SnapshotSummary;
  readonly force: boolean;
  readonly progress: Progress;
  entries(): AsyncIterable<readonly Entry[]>;
}

type RestoreTarget = { readonly folder: string } | { readonly etcd: EtcdStoreOptions };

export async function restoreSnapshot(
  file: string,
  target: RestoreTarget,
  { force, progress }: { readonly force: boolean; readonly progress: Progress },
): Promise<SnapshotSummary & { readonly restoredRevision: number }> {
  const header = await checkSnapshotFile(file, () => {});
  const options = { header, force, progress, entries: () => snapshotEntries(file) };
  const restoredRevision =
    'folder' in target
      ? await restoreToLmdb(target.folder, options)
      : await restoreToEtcd(target.etcd, options);
  return { ...header, restoredRevision };
}

/** Revisions are etcd's own there: keys get new ones. */
async function restoreToEtcd(etcd: EtcdStoreOptions, options: RestoreOptions): Promise<number> {
  const target = openEtcdTarget(etcd);
  try {
    const keys = await target.count();
    if (keys > 0 && !options.force) throw notEmpty('etcd', keys);
    let revision = await target.clear();
    let done = 0;
    for await (const page of options.entries()) {
      revision = await target.put(page);
      done += page.length;
      options.progress(done, options.header.keys);
    }
    return revision;
  } finally {
    target.close();
  }
}
