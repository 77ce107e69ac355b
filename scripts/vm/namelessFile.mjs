// Files without a name: bytes for a machine that only an open descriptor leads to.
// Guarantees: there is nothing to delete later, even if the process is killed the next moment.

import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A descriptor on an empty file; the caller closes it. */
function open() {
  const directory = mkdtempSync(join(tmpdir(), 'trellis-vm-'));
  try {
    return openSync(join(directory, 'file'), 'w+');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** A descriptor on the bytes; the caller closes it. */
export function fileOf(bytes) {
  const fd = open();
  let written = 0;
  while (written < bytes.length) written += writeSync(fd, bytes, written);
  return fd;
}

/** A descriptor on what `command` makes of `input`, or null if it cannot; the caller closes it. */
export function fileFrom(command, input) {
  const fd = open();
  const { status } = spawnSync(command[0], command.slice(1), { input, stdio: ['pipe', fd, 'ignore'] });
  if (status === 0) return fd;
  closeSync(fd);
  return null;
}
