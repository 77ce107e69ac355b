// What `npm run lint` says of imports, package.json and docs/dependencies.md when they differ.
// Guarantees: each kind of difference is found and named, and a tree without one is silent.
import { expect, test } from 'vitest';
import { differences, importsOf, usesOf } from '../../../../scripts/lib/declared.mjs';

const page = `
## At run time
| package | for |
|---|---|
| \`yaml\` | files; \`other\` words in other columns are none |

## For building
| \`node-gyp\`, \`@types/node\` | the core |

## For tests and benchmarks
| \`@scope/peer\` | benchmarks |
`;
const manifest = {
  dependencies: { yaml: '2' },
  devDependencies: { 'node-gyp': '12', '@types/node': '20', '@scope/peer': '1' },
};
const files = [
  {
    path: 'src/a.ts',
    text: "import { parse } from 'yaml';\nimport path from 'node:path';\nimport '../b.js';\n",
  },
  { path: 'scripts/lib/native.mjs', text: "createRequire(here).resolve('node-gyp/bin/node-gyp.js')" },
  { path: 'bench/a.ts', text: "import {\n  one,\n} from '@scope/peer/deep';\n" },
];
const tree = { manifest, files, page };

test('a tree that declares what it imports is silent', () => {
  expect(differences(tree)).toEqual([]);
});

test.each([
  [
    'an import that nothing declares',
    { ...tree, files: [...files, { path: 'bench/b.ts', text: "import protobuf from 'protobufjs';\n" }] },
    'bench/b.ts: imports protobufjs, which is not in the dependencies and devDependencies of package.json',
  ],
  [
    'a run-time import of a package for development',
    { ...tree, files: [...files, { path: 'proxy-modes/b.ts', text: "import '@scope/peer';\n" }] },
    'proxy-modes/b.ts: imports @scope/peer, which is not in the dependencies of package.json',
  ],
  [
    'a build tool among the run-time dependencies',
    {
      ...tree,
      manifest: { dependencies: { yaml: '2', 'node-gyp': '12' }, devDependencies: manifest.devDependencies },
    },
    'docs/dependencies.md: For building: node-gyp is in the dependencies of package.json',
  ],
  [
    'a package that nothing uses',
    { ...tree, files: files.slice(0, 2) },
    'docs/dependencies.md: For tests and benchmarks: @scope/peer is used by nothing in test, bench',
  ],
  [
    'a package without a row',
    { ...tree, manifest: { ...manifest, dependencies: { yaml: '2', jose: '6' } } },
    'docs/dependencies.md: says nothing of jose',
  ],
  [
    'a row without a package',
    { ...tree, manifest: { ...manifest, dependencies: {} }, files: files.slice(1) },
    'docs/dependencies.md: At run time: yaml is not in package.json',
  ],
])('%s is named', (_, changed, sentence) => {
  expect(differences(changed)).toEqual([sentence]);
});

test('imports of every form are seen, and texts about imports are not', () => {
  // In pieces: the check reads this file, too.
  const call = (word: string, name: string) => `const part = ${word}('${name}');`;
  const text = [
    "export * from 'one';",
    call('await import', 'two/part'),
    call('require', 'three'),
    "import type { Four } from '@scope/four';",
    "import net from 'net';",
    "const script = 'import five from \\'five\\'';",
  ].join('\n');
  expect(importsOf(text).sort()).toEqual(['@scope/four', 'one', 'three', 'two']);
});

test('a package reached by its path is used', () => {
  const text =
    "inTree('node_modules', '@scope', 'tool', 'bin', 'tool'); const files = ['node_modules/typescript/package.json'];";
  expect(usesOf(text).sort()).toEqual(['@scope/tool', 'typescript']);
});
