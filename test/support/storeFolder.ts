// A folder for one store, gone after the test.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export async function storeFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'store-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
