// A lock file that keeps two set-ups of one tree apart.
// Guarantees: the file appears with its content in one step, and the lock of a dead process is taken over.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;

/** Runs `work` while holding the lock; `onWait` is told the holder's process id once, when there is one. */
export async function withLock(file, { onWait = (_pid) => {} } = {}, work) {
  await acquire(file, onWait);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

async function acquire(file, onWait) {
  mkdirSync(path.dirname(file), { recursive: true });
  const own = `${file}.${process.pid}`;
  writeFileSync(own, identityOf(process.pid) ?? '');
  try {
    for (let waited = false; !tryLink(own, file); ) {
      const holder = read(file);
      if (holder === null) continue;
      if (isAlive(holder)) {
        if (!waited) onWait(Number.parseInt(holder, 10));
        waited = true;
        await sleep(POLL_MS);
      } else {
        removeStale(file, holder);
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function tryLink(own, file) {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

// Renaming first means that of two processes which judged the same lock stale only one removes it; should
// the other by then have a fresh lock in place, that one is put back.
function removeStale(file, judged) {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== judged) tryLink(aside, file);
  rmSync(aside, { force: true });
}

/** "pid start-time": the start time tells a holder from a later process with the same number. */
export function identityOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return `${pid} ${fields[19]}`;
}

function isAlive(holder) {
  return identityOf(Number.parseInt(holder, 10)) === holder;
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
}
