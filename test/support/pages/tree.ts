// The files and folders of the tree, and whether a path of a page is among them.
// Guarantees: what set-up and the build make is not looked at, so that a page is judged alike before and after them.
import { readdirSync } from 'node:fs';
import path from 'node:path';

/** Made on the user's machine: nothing of it is in the tree. */
export const MADE = ['node_modules', 'dist', 'build', '.cache', '.git'];

export interface Tree {
  /** Whether a file or folder is there; `*`, `<name>` and `{a,b}` stand for parts of a name. */
  has(wanted: string): boolean;
  readonly files: readonly string[];
}

export function readTree(root = '.'): Tree {
  const all: string[] = [];
  const walk = (dir: string) => {
    for (const entry of readdirSync(path.join(root, dir), { withFileTypes: true })) {
      const at = path.posix.join(dir, entry.name);
      if (MADE.includes(at)) continue;
      all.push(at);
      if (entry.isDirectory()) walk(at);
    }
  };
  walk('');
  const known = new Set(all);
  return {
    files: all,
    has: (wanted) => {
      const plain = path.posix.normalize(wanted).replace(/\/$/, '');
      if (!/[*<{]/.test(plain)) return known.has(plain) || plain === '.';
      const pattern = new RegExp(
        `^${plain
          .split(/(\*|<[^>]+>|\{[^}]+\})/)
          .map(part)
          .join('')}$`,
      );
      return all.some((file) => pattern.test(file));
    },
  };
}

const escaped = (text: string) => text.replace(/[.+?^${}()|[\]\\*]/g, '\\$&');
const part = (text: string) => {
  if (text.startsWith('*') || text.startsWith('<')) return '[^/]+';
  if (text.startsWith('{')) return `(?:${text.slice(1, -1).split(',').map(escaped).join('|')})`;
  return escaped(text);
};
