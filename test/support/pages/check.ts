// What a page says that is not so: commands, scripts, paths and links that are not there. Pure.
// Guarantees: every fault is told with its page and line.
import path from 'node:path';
import { trellisFault, trellisWords } from './commands.js';
import { anchors, codeLines, codeSpans, type Line, links, type Page } from './markdown.js';
import { MADE, type Tree } from './tree.js';

export interface World {
  readonly tree: Pick<Tree, 'has'>;
  /** Of package.json. */
  readonly scripts: readonly string[];
  /** The text of another page. */
  pageAt(path: string): Page | undefined;
  /** Folders below which a page names files in short, beside the root and the page's own. */
  basesOf(page: string): readonly string[];
  /** Words that look like a path of the tree and are none. */
  isNoPath(page: string, word: string): boolean;
}

const FILE = /\.(ts|mjs|js|cc|h|md|json|yaml|proto|gyp|pl)$/;
const PATH = /^[\w.@-]+(\/[\w.@*<>{},-]+)*\/?$/;
/** Scripts that npm has without `run`. */
const SHORT = ['start', 'test'];

export function faultsOf(page: Page, world: World): string[] {
  const code = codeLines(page);
  const spans = codeSpans(page);
  const told = (found: readonly Line[], fault: (text: string) => string | undefined) =>
    found.flatMap(({ number, text }) => {
      const wrong = fault(text);
      return wrong === undefined ? [] : [`${page.path}:${number}: ${wrong}`];
    });
  const words = code.flatMap(({ number, text }) => text.split(/\s+/).map((word) => ({ number, text: word })));
  return [
    ...told([...code, ...spans], (text) => {
      const typed = trellisWords(text);
      return typed === undefined ? undefined : commandFault(typed);
    }),
    ...told([...code, ...spans], (text) => scriptFault(text, world)),
    ...told(spans, (text) => pathFault(page, text, world)),
    // In a block, where a file's name may be one that the reader makes, only what begins with a folder of the tree.
    ...told(words, (text) => (text.includes('/') ? rootedFault(page, text, world) : undefined)),
    ...told(links(page), (to) => linkFault(page, to, world)),
  ];
}

/** `create|list|delete` is three command lines. */
function commandFault(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word.includes('|'));
  if (at === -1) return trellisFault(words);
  const choices = words[at]?.split('|') ?? [];
  return choices
    .map((choice) => commandFault([...words.slice(0, at), choice, ...words.slice(at + 1)]))
    .find((wrong) => wrong !== undefined);
}

function scriptFault(text: string, { scripts }: World): string | undefined {
  const run = [...text.matchAll(/\bnpm run ([\w:-]*\w)/g)].map(([, name = '']) => name);
  const short = SHORT.filter((name) => new RegExp(`\\bnpm ${name}\\b`).test(text));
  const missing = [...run, ...short].find((name) => !scripts.includes(name));
  return missing === undefined ? undefined : `package.json has no script "${missing}"`;
}

function pathFault(page: Page, text: string, world: World): string | undefined {
  const isRooted = rootedFault(page, text, world);
  if (isRooted !== undefined || !PATH.test(text)) return isRooted;
  if (!FILE.test(text) && !text.endsWith('/')) return undefined;
  if (MADE.includes(text.split('/')[0] ?? '') || world.isNoPath(page.path, text)) return undefined;
  const bases = ['.', path.posix.dirname(page.path), ...world.basesOf(page.path)];
  const isThere = bases.some((base) => world.tree.has(path.posix.join(base, text)));
  return isThere ? undefined : `${text} is not there`;
}

/** Of what begins with a file or folder at the top of the tree. */
function rootedFault(page: Page, word: string, world: World): string | undefined {
  const [first = '', ...rest] = word.split('/');
  if (rest.length === 0 || first === '' || !PATH.test(word) || !world.tree.has(first)) return undefined;
  if (MADE.includes(first) || world.tree.has(word) || world.isNoPath(page.path, word)) return undefined;
  return `${word} is not there`;
}

function linkFault(page: Page, to: string, { tree, pageAt }: World): string | undefined {
  if (/^[a-z]+:/.test(to)) return undefined;
  const [file = '', anchor] = to.split('#');
  const target = file === '' ? page.path : path.posix.join(path.posix.dirname(page.path), file);
  if (!tree.has(target)) return `the link ${to} leads nowhere`;
  const there = pageAt(target);
  if (anchor === undefined || (there !== undefined && anchors(there).has(anchor))) return undefined;
  return `${target} has no heading for the link ${to}`;
}
