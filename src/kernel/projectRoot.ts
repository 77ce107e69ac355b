// Where the project's own files are: what was built lies in build/ and dist/ below it.
// Guarantees: the same answer whether this file runs from src/ or from dist/src/.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function projectRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory)
      throw new Error('the native build cannot be found: no package.json above this file');
    directory = parent;
  }
  return directory;
}
