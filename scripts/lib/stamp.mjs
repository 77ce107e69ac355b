// Tells whether the inputs of a build changed since it last succeeded.
// Guarantees: sizes and times alone can only ever say "unchanged"; contents are hashed before saying "changed".
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * `root` and `inputs` (files and folders below it) name what is read, `salt` is anything else that matters.
 * Returns `{ fresh, commit() }`; `commit` records the inputs as they were when this was called.
 */
export function checkStamp({ file, root, inputs, salt = '', accept = () => true }) {
  const files = listFiles(root, inputs).filter(accept);
  const outline = outlineOf(root, files, salt);
  const old = readStamp(file);
  if (old?.outline === outline) return { fresh: true, previous: old, commit: () => writeStamp(file, old) };
  const contents = contentsOf(root, files, salt);
  const commit = () => writeStamp(file, { outline, contents, salt });
  const fresh = old?.contents === contents;
  if (fresh) refresh(commit); // touched or checked out again, but the same: the next look is quick again
  return { fresh, previous: old, commit };
}

/** Paths relative to root, sorted; inputs that do not exist are left out. */
export function listFiles(root, inputs) {
  const found = [];
  const visit = (relative) => {
    const stats = statSync(path.join(root, relative), { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isDirectory()) found.push(relative);
    else for (const name of readdirSync(path.join(root, relative))) visit(path.join(relative, name));
  };
  for (const input of inputs) visit(input);
  return found.sort();
}

function outlineOf(root, files, salt) {
  const hash = createHash('sha256').update(salt);
  for (const file of files) {
    const { size, mtimeNs } = statSync(path.join(root, file), { bigint: true });
    hash.update(`\0${file}\0${size}\0${mtimeNs}`);
  }
  return hash.digest('hex');
}

function contentsOf(root, files, salt) {
  const hash = createHash('sha256').update(salt);
  for (const file of files) {
    const bytes = readFileSync(path.join(root, file));
    hash.update(`\0${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

// A tree that belongs to somebody else can be used all the same; only the quick look is lost.
function refresh(write) {
  try {
    write();
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error;
  }
}

function readStamp(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error instanceof SyntaxError) return null;
    throw error;
  }
}

function writeStamp(file, stamp) {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(stamp)}\n`);
  renameSync(temporary, file);
}
