// Where the plugins under measurement are: ours as built, the reference ones of the Debian package.
// Guarantees: the paths do not depend on where the benchmark is started.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This file stands at dist/bench/cni once built. */
const here = dirname(fileURLToPath(import.meta.url));
export const PLUGINS = join(here, '..', '..', 'cni');
export const SOURCES = join(here, '..', '..', '..', 'bench', 'cni');
export const EXECUTABLE = join(PLUGINS, 'trellis-cni');
export const REFERENCE = '/usr/lib/cni';
