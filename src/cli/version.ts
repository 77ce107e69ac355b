// Where this installation is and which version, from the nearest package.json of Trellis.
// Guarantees: the same answer from the sources and from dist/.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface Installation {
  readonly root: string;
  readonly version: string;
}

const here = () => path.dirname(fileURLToPath(import.meta.url));

export const trellisVersion = (start = here()): string => installation(start).version;

/** The folder that holds package.json, dist and build. */
export const installationRoot = (start = here()): string => installation(start).root;

function installation(start: string): Installation {
  const file = path.join(start, 'package.json');
  if (existsSync(file)) {
    const manifest: { name?: string; version?: string } = JSON.parse(readFileSync(file, 'utf8'));
    if (manifest.name === 'trellis' && manifest.version !== undefined)
      return { root: start, version: manifest.version };
  }
  const above = path.dirname(start);
  if (above === start) throw new Error('this installation of trellis is broken: its package.json is missing');
  return installation(above);
}
