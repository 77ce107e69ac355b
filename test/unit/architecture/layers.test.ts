// Guards the layer rule: reads every import of the sources.
// Guarantees: the guard itself is shown to catch each kind of violation, so it cannot pass by being blind.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, napiOutsideAddon, type SourceFile, violations } from './layers.js';

const root = path.resolve(import.meta.dirname, '../../..');

function sources(folders: readonly string[], ending: RegExp): SourceFile[] {
  return folders
    .filter((folder) => existsSync(path.join(root, folder)))
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => ending.test(name))
        .map((name) => ({
          path: path.join(folder, name),
          text: readFileSync(path.join(root, folder, name), 'utf8'),
        })),
    );
}

test('the TypeScript sources keep to the layers', () => {
  const files = sources(['src', 'proxy-modes'], /\.ts$/);
  expect(files.length).toBeGreaterThan(10);
  expect(violations(files)).toEqual([]);
});

/** What a process that begins with these files holds: their imports and theirs, not what is loaded when it is needed. */
function loadedWith(...files: readonly string[]): Set<string> {
  const texts = new Map(sources(['src'], /\.ts$/).map(({ path: file, text }) => [file, text]));
  const loaded = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const [, specifier = ''] of (texts.get(file) ?? '').matchAll(
      /^(?:import\s(?!type\b)(?:[^'";=(]*?\sfrom\s)?|export\s(?!type\b)[^'";=(]*?\sfrom\s)['"]([^'"]+)['"]/gm,
    ))
      load(
        specifier.startsWith('.')
          ? path.join(path.dirname(file), specifier.replace(/\.js$/, '.ts'))
          : specifier,
      );
  };
  files.forEach(load);
  return loaded;
}

test('what every process of trellis loads is small: each command loads its own part when it runs', () => {
  const loaded = [...loadedWith('src/cli/main.ts')].filter((file) => !file.startsWith('node:'));
  expect(loaded).toContain('commander');
  expect(loaded.filter((file) => !file.startsWith('src/cli/') && !file.startsWith('src/doctor/'))).toEqual([
    'commander',
    'src/api/build.ts',
  ]);
});

test.each([['src/cli/cluster/up.ts'], ['src/cli/cluster/agent.ts']])(
  'the supervisor, which runs as long as a cluster does, loads neither what prepares a start nor what ends it: %s',
  (command) => {
    const loaded = [...loadedWith('src/cli/main.ts', command)];
    expect(loaded).toContain('src/cluster/supervisor.ts');
    const heavy =
      /^src\/(apiserver|cni|cri|dns|kubelet|scheduler|store)\/|^src\/kernel\/addon|^src\/client\/(?!error)|^src\/cluster\/(up|down|configuration|pki)|^proxy-modes|^(?!node:|commander)[@\w-]+$/;
    expect(loaded.filter((file) => heavy.test(file))).toEqual([]);
  },
);

test('only native/addon includes N-API headers', () => {
  expect(napiOutsideAddon(sources(['native', 'cni-plugins'], /\.(h|cc)$/))).toEqual([]);
});

test('C++ files are named in small letters with underscores, and end in .cc or .h', () => {
  const named = sources(['native', 'cni-plugins'], /\.(h|hh|hpp|c|cc|cpp|cxx)$/).map(({ path }) => path);
  expect(named.length).toBeGreaterThan(200);
  expect(named.filter((path) => !/\/[a-z0-9_]+\.(cc|h)$/.test(path))).toEqual([]);
});

describe('the guard catches', () => {
  const cases: [string, string, string, string][] = [
    ['an upward import', 'src/api/pod.ts', "import { x } from '../kernel/link.js';", 'imports kernel'],
    [
      'siblings that meet',
      'src/kubelet/a.ts',
      "import type { X } from '../scheduler/b.js';",
      'imports scheduler',
    ],
    [
      'the API server from a controller',
      'src/controllers/a.ts',
      "export * from '../apiserver/b.js';",
      'imports apiserver',
    ],
    ['a dynamic import', 'src/store/a.ts', "await import('../cli/main.js');", 'imports cli'],
    ['a side-effect import', 'src/cri/a.ts', "import '../kubelet/x.js';", 'imports kubelet'],
    [
      'the world in a pure room',
      'src/api/a.ts',
      "import { readFile } from 'node:fs/promises';",
      'is pure but imports node:',
    ],
    [
      'a second loader of the addon',
      'src/kubelet/a.ts',
      "require('../../build/Release/trellis.node');",
      'loads a native addon',
    ],
    ['a room nobody declared', 'src/misc/a.ts', '', 'not in the layer table'],
    [
      'a proxy mode that reaches the client',
      'proxy-modes/ipvs/a.ts',
      "import '../../src/client/c.js';",
      'imports client',
    ],
  ];
  test.each(cases)('%s', (_, file, text, words) => {
    expect(violations([{ path: file, text }]).join('\n')).toContain(words);
  });

  test('an N-API header in the core', () => {
    const text = '#include <napi.h>\n';
    expect(napiOutsideAddon([{ path: 'native/netlink/a.cc', text }])).toHaveLength(1);
    expect(napiOutsideAddon([{ path: 'native/addon/a.cc', text }])).toEqual([]);
  });
});

test('allowed imports pass', () => {
  const text =
    "import {\n  a,\n  b,\n} from '../kernel/link.js';\nimport { c } from './d.js';\nimport 'commander';";
  expect(importsOf(text)).toEqual(['../kernel/link.js', './d.js', 'commander']);
  expect(violations([{ path: 'src/kubelet/a.ts', text }])).toEqual([]);
});
