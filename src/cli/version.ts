// Where this installation is and what it was built from, by the nearest package.json of Trellis and dist/build.json.
// Guarantees: the same answer from the sources, from dist/ and from a packed copy without a repository.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Build, UNKNOWN_BUILD } from '../api/build.js';

interface Installation {
  readonly root: string;
  readonly version: string;
}

const here = () => path.dirname(fileURLToPath(import.meta.url));

export const trellisVersion = (start = here()): string => installation(start).version;

/** The folder that holds package.json, dist and build. */
export const installationRoot = (start = here()): string => installation(start).root;

/** What the build has written down of itself, with the version. */
export function trellisBuild(start = here()): Build {
  const { root, version } = installation(start);
  const file = path.join(root, 'dist', 'build.json');
  const written: Partial<Build> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  return { ...UNKNOWN_BUILD, ...written, version };
}

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
