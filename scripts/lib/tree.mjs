// Where things are in the source tree; the only place that knows the paths set-up and build share.
// Guarantees: paths are absolute and do not depend on the current folder.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const inTree = (...parts) => path.join(root, ...parts);
export const lockFile = inTree('.cache', 'setup.lock');
