// Every page of the tree, held against the tree itself and the command line.
// Guarantees: a command, flag, script, path, link or anchor that a page names is there; so are commands of help texts.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { faultsOf, type World } from '../../support/pages/check.js';
import { COMMANDS, SILENT, trellisFault, trellisWords } from '../../support/pages/commands.js';
import type { Page } from '../../support/pages/markdown.js';
import { readTree } from '../../support/pages/tree.js';

const tree = readTree();
const isPage = (file: string) =>
  ['CONTRIBUTING.md'].includes(file) || /^docs\/[^/]+\.md$/.test(file) || /(^|\/)README\.md$/.test(file);
const readPage = (file: string): Page => ({ path: file, text: readFileSync(file, 'utf8') });
const pages = tree.files.filter(isPage);
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/** Where the pages of a part name its files in short. */
const BASES: Readonly<Record<string, readonly string[]>> = {
  'CONTRIBUTING.md': [
    'src/apiserver/admission',
    'src/controllers',
    'src/api/kinds',
    'src/kernel/route',
    'test/unit/api/kinds',
  ],
  'docs/apiserver.md': ['src/apiserver', 'src'],
  'docs/controllers.md': ['src/controllers', 'test/runtime/controllers'],
  'docs/kubelet.md': ['src/kubelet', 'src/kubelet/resize'],
  'docs/proxy.md': ['src/proxy'],
  'docs/testing.md': ['src/base'],
  'docs/vm.md': ['scripts/vm'],
  'docs/kernel.md': ['src/kernel/route'],
  'docs/proxy-modes.md': ['test/kernel/iptables'],
};

/** What looks like a path of the tree, by page, with what it is. */
const NO_PATHS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/cluster.md': { 'pods/': 'a folder below the logs of a cluster' },
  'docs/kubelet.md': { 'checkpoints/': "a folder of the kubelet's root directory" },
  'docs/proxy-modes.md': { 'proxy.json': 'what a benchmark writes' },
};
/** How docs/cluster.md calls the data directory of a cluster. */
const isInDataDir = (page: string, word: string) => page === 'docs/cluster.md' && word.startsWith('D/');

const world: World = {
  tree,
  scripts: Object.keys(scripts),
  pageAt: (file) => (pages.includes(file) ? readPage(file) : undefined),
  basesOf: (page) => BASES[page] ?? [],
  isNoPath: (page, word) => NO_PATHS[page]?.[word] !== undefined || isInDataDir(page, word),
};

test('the pages are found', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/cluster.md']));
  expect(pages).toContain('cni-plugins/vxlan/README.md');
});

test.each(pages)('%s names nothing that is not there', (file) => {
  expect(faultsOf(readPage(file), world)).toEqual([]);
});

describe('help', () => {
  const commands = (command: Command): Command[] => [command, ...command.commands.flatMap(commands)];
  const every = commands(createProgram(SILENT, COMMANDS));

  test.each(
    every.map(
      (command) =>
        [
          command.parent === null ? 'trellis' : `${command.parent.name()} ${command.name()}`,
          command,
        ] as const,
    ),
  )('of %s explains every flag, and its examples can be typed', (_, command) => {
    let shown = '';
    command
      .configureOutput({
        writeOut: (text) => {
          shown += text;
        },
      })
      .outputHelp();
    const examples = shown
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .filter((line) => /^ {2}trellis /.test(line));
    expect(
      examples
        .map(trellisWords)
        .map((words = []) => trellisFault(words))
        .filter((fault) => fault !== undefined),
    ).toEqual([]);
    const silent = command.options.filter(({ description, hidden }) => !hidden && !description);
    expect(silent.map(({ flags }) => flags)).toEqual([]);
  });
});

describe('a page', () => {
  const only: World = {
    tree: { has: (wanted) => ['.', 'page.md', 'src', 'src/a.ts', 'docs/b.md'].includes(wanted) },
    scripts: ['test', 'bench'],
    pageAt: (file) =>
      file === 'docs/b.md' ? { path: file, text: '# Not `yet`, two\n## Again\n## Again\n' } : undefined,
    basesOf: () => [],
    isNoPath: () => false,
  };
  const faults = (text: string) => faultsOf({ path: 'page.md', text }, only);
  const block = (line: string) => `text\n\n    ${line}\n`;

  test.each([
    ['a command that is not there', block('trellis upp'), '"upp" is no command or argument of "trellis"'],
    ['one below a command', block('npx trellis token make'), '"make" is no command or argument of "token"'],
    ['a flag that is not there', block('$ trellis up --nods 3  # three'), '"--nods" is no option of "up"'],
    ['one in brackets', block('trellis down [--purge] [--all]'), '"--all" is no option of "down"'],
    ['a value that is refused', block('A=1 trellis up --proxy-mode magic'), 'magic'],
    ['a flag told to a service', block('trellis install up --nods 3'), '"--nods" is no option of "up"'],
    ['one of several', 'Use `trellis token create|drop`.', '"drop" is no command or argument of "token"'],
    ['a line in two parts', block('trellis up \\\n      --nods 3'), '"--nods" is no option of "up"'],
    ['a script', 'Run `npm run fly`.', 'package.json has no script "fly"'],
    ['a script of npm itself', block('npm start'), 'package.json has no script "start"'],
    ['a path', 'See `src/b.ts`.', 'src/b.ts is not there'],
    ['a path in a block', block('node src/b'), 'src/b is not there'],
    ['a file', 'See `b.ts`.', 'b.ts is not there'],
    ['a link', '[b](docs/c.md)', 'the link docs/c.md leads nowhere'],
    ['an anchor', '[b](docs/b.md#yes)', 'docs/b.md has no heading for the link docs/b.md#yes'],
    ['an anchor of its own', '[b](#yes)', 'page.md has no heading for the link #yes'],
  ])('with %s that is wrong', (_, text, fault) => {
    expect(faults(text)).toEqual([expect.stringMatching(/^page\.md:\d+: /)]);
    expect(faults(text)[0]).toContain(fault);
  });

  test('that is right', () => {
    const text = [
      '[b](docs/b.md#not-yet-two), [b](docs/b.md#again-1), [site](https://example.org/x#y)',
      'See `src/a.ts`, `/run/x/y.json`, `text/plain`, `npm test` and `npm run bench -- native`.',
      '```sh',
      'trellis up --nodes 3 --detach      # and wait',
      'trellis kubectl get pods -A --anything',
      'trellis install --dry-run agent --server https://a:6443 --token T',
      'trellis logs agent -f',
      'trellis-node is another program, and [no](link)',
      '```',
    ].join('\n');
    expect(faults(text)).toEqual([]);
  });
});
