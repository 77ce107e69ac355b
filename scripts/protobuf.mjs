// Writes the numbers of protobuf's fields anew, from the .proto files that Debian's packages of Kubernetes' types hold:
// `node scripts/protobuf.mjs [--suite=sid]`, after a build. Guarantees: apt verifies the packages; only names and numbers are
// kept, with the versions they came from; the same packages give the same file.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bringFiles } from './lib/debian.mjs';
import { reportFailure } from './lib/failure.mjs';
import { numbersOf, readProto } from './lib/protoNumbers.mjs';
import { run } from './lib/run.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree } from './lib/tree.mjs';

const SUITE = '--suite=';
const PACKAGES = [
  'golang-k8s-api-dev',
  'golang-k8s-apiextensions-apiserver-dev',
  'golang-k8s-apimachinery-dev',
];
const TABLE = inTree('src', 'apiserver', 'protobuf', 'fieldNumbers.ts');

/** What is sent and answered besides the kinds that are stored. */
const OTHERS = [
  ...['DeleteOptions', 'ListMeta', 'Status'].map((kind) => ['', 'v1', kind, 'meta']),
  ...['Binding', 'ComponentStatus'].map((kind) => ['', 'v1', kind]),
  ['policy', 'v1', 'Eviction'],
  ['autoscaling', 'v1', 'Scale'],
  ...['TokenRequest', 'TokenReview', 'SelfSubjectReview'].map((kind) => [
    'authentication.k8s.io',
    'v1',
    kind,
  ]),
  ...[
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
  ].map((kind) => ['authorization.k8s.io', 'v1', kind]),
];

async function main(args) {
  const suite = args.find((arg) => arg.startsWith(SUITE))?.slice(SUITE.length) ?? 'sid';
  const folder = inTree('.cache', 'protobuf', suite);
  const steps = createSteps();
  const names = await bringFiles(steps, { suite, folder, packages: PACKAGES });
  const texts = readdirSync(path.join(folder, 'root'), { recursive: true })
    .filter((file) => file.endsWith('generated.proto'))
    .map((file) => readFileSync(path.join(folder, 'root', file), 'utf8'));
  const messages = new Map(texts.flatMap((text) => [...readProto(text)]));
  const { schemas } = await import(inTree('dist', 'src', 'api', 'gen', 'schemas.js'));
  const { table, missing } = numbersOf({ roots: await rootsIn(messages), schemas, messages });
  writeFileSync(TABLE, textOf(table, names));
  await run(process.execPath, [
    inTree('node_modules', '@biomejs', 'biome', 'bin', 'biome'),
    'format',
    '--write',
    TABLE,
  ]);
  steps.note(`${table.size} messages from ${names.join(', ')}`);
  if (missing.length > 0) steps.note(`without a number: ${missing.join(', ')}`);
}

/** Each model that the server speaks, and its message: packages are named by the first word of their group. */
async function rootsIn(messages) {
  const { KINDS } = await import(inTree('dist', 'src', 'api', 'kinds', 'index.js'));
  const { modelOf } = await import(inTree('dist', 'src', 'apiserver', 'protobuf', 'messages.js'));
  const kinds = KINDS.flatMap((kind) => [kind, ...(kind.versions ?? [])]).map(({ type }) => [
    type.group,
    type.version,
    type.kind,
  ]);
  const all = [...messages.keys()];
  return [...kinds, ...OTHERS].map(([group, version, kind, word = group.split('.')[0] || 'core']) => {
    const message = all.find((name) => name.endsWith(`.${word}.${version}.${kind}`));
    if (message === undefined) throw new Error(`no .proto file has ${kind} of ${group}/${version}`);
    return [modelOf({ apiVersion: group === '' ? version : `${group}/${version}`, kind }), message];
  });
}

/** The present file with its list of packages and its rows made anew. */
function textOf(table, names) {
  const present = readFileSync(TABLE, 'utf8');
  const opening = '= {\n';
  const head = present.slice(0, present.indexOf(opening) + opening.length);
  const origin = names.map((name) => `// - ${name.replace(/_all$/, '').replace('_', ' ')}\n`).sort();
  const rows = [...table].map(([model, numbers]) => `  '${model}': '${numbers}',\n`);
  return [head.replace(/(?:\/\/ - [^\n]*\n)+/, origin.join('')), ...rows, '};\n'].join('');
}

main(process.argv.slice(2)).catch(reportFailure);
