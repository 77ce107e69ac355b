// The version of this installation, from the nearest package.json of Trellis.
// Guarantees: the same answer from the sources and from dist/.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export function trellisVersion(start = path.dirname(fileURLToPath(import.meta.url))): string {
  const file = path.join(start, 'package.json');
  if (existsSync(file)) {
    const manifest: { name?: string; version?: string } = JSON.parse(readFileSync(file, 'utf8'));
    if (manifest.name === 'trellis' && manifest.version !== undefined) return manifest.version;
  }
  const above = path.dirname(start);
  if (above === start) throw new Error('this installation of trellis is broken: its package.json is missing');
  return trellisVersion(above);
}
