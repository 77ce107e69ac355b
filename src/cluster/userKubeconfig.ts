// The cluster in a user's own kubeconfig, on request: one context with its cluster and user, put in or taken out.
// Guarantees: everything else in the file stays, comments too; the file is replaced as a whole, readable by its owner alone.
import { chown, mkdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Document, isMap, isSeq, parseDocument } from 'yaml';
import { ClusterError } from './error.js';
import { readIfThere, writePrivate } from './files.js';

const LISTS = [
  ['clusters', 'cluster'],
  ['users', 'user'],
  ['contexts', 'context'],
] as const;
const CURRENT = 'current-context';
const EMPTY = 'apiVersion: v1\nkind: Config\n';

/** Where kubectl reads, and with more than one file writes: the first. */
export function userKubeconfig(env: NodeJS.ProcessEnv = process.env): string {
  const [first = ''] = (env['KUBECONFIG'] ?? '').split(':').filter((file) => file !== '');
  return first === '' ? path.join(homedir(), '.kube', 'config') : path.resolve(first);
}

/** The user's text with the cluster of `own` under this name, as the current context. Pure. */
export function withCluster(users: string, own: string, name: string): string {
  const document = read(users === '' ? EMPTY : users);
  const ours = JSON.parse(own) as Record<string, Record<string, unknown>[]>;
  const context = { cluster: name, user: name };
  for (const [list, field] of LISTS) {
    const value = list === 'contexts' ? context : ours[list]?.[0]?.[field];
    remove(document, list, name);
    if (!isSeq(document.get(list))) document.set(list, document.createNode([]));
    document.addIn([list], document.createNode({ name, [field]: value }));
  }
  document.set(CURRENT, name);
  return document.toString();
}

/** The user's text without it. Pure. */
export function withoutCluster(users: string, name: string): string {
  if (users === '') return users;
  const document = read(users);
  for (const [list] of LISTS) remove(document, list, name);
  if (document.get(CURRENT) === name) document.delete(CURRENT);
  return document.toString();
}

function read(text: string): Document {
  const document = parseDocument(text);
  if (document.errors.length === 0 && (document.contents === null || isMap(document.contents)))
    return document;
  // No excerpt: the lines around a fault may hold a key.
  throw new ClusterError('BAD_OPTION', 'the file is not a kubeconfig, so it was left as it is');
}

function remove(document: Document, list: string, name: string): void {
  const entries = document.get(list);
  if (!isSeq(entries)) return;
  entries.items = entries.items.filter((item) => !(isMap(item) && item.get('name') === name));
}

/** Changes the file, or makes it; whose file or directory it is, stays its owner. */
export async function changeKubeconfig(named: string, change: (text: string) => string): Promise<void> {
  const file = await realpath(named).catch(() => named);
  const before = (await readIfThere(file)) ?? '';
  const text = change(before);
  if (text === before) return;
  const { uid, gid } = await ownerOf(file);
  const made = await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  if (made !== undefined) await chown(made, uid, gid);
  await writePrivate(file, text);
  await chown(file, uid, gid);
}

/** Of the file, or of the nearest directory above it that there is: with sudo that is not root. */
async function ownerOf(file: string): Promise<{ uid: number; gid: number }> {
  const found = await stat(file).catch(() => undefined);
  return found ?? ownerOf(path.dirname(file));
}
