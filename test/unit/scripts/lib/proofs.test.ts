// The long proofs of `npm run test:long`: what each runs, and that none is missing.
// Guarantees: a variable that makes a test longer has a row, and a row has tests that read its variables.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { longUsage, PROOFS, parseLongArguments, vitestCall } from '../../../../scripts/lib/proofs.mjs';

/** Variables that tests read for another reason than their length. */
const NOT_LONG = [
  'TRELLIS_CEL_SEED',
  'TRELLIS_CHAOS_SEED',
  'TRELLIS_FUZZ_SEED',
  'TRELLIS_KUBECTLS',
  'TRELLIS_STOCK',
  'TRELLIS_POLICY_SEED',
  'TRELLIS_TEST_KUBECONFIG',
];
/** Of what tests are made with. */
const MACHINERY = [
  'TRELLIS_LEAKS',
  'TRELLIS_PRELOAD',
  'TRELLIS_ADDON',
  'TRELLIS_VM',
  'TRELLIS_VM_OUT',
  'TRELLIS_TEST_COUNTS',
];

interface Proof {
  name: string;
  project: string;
  tests: string[];
  env: Record<string, string>;
}
const proofs = PROOFS as Proof[];

const read = (file: string) => readFileSync(file, 'utf8');
const variablesIn = (text: string) =>
  [...text.matchAll(/process\.env\['(TRELLIS_\w+)'\]/g)].flatMap(([, name]) => name ?? []);
const filesOf = ({ project, tests }: Proof) => tests.map((name) => `test/${project}/${name}.test.ts`);

describe.each(proofs)('$name', (proof) => {
  test('names tests that exist', () => {
    expect(filesOf(proof).filter((file) => !existsSync(file))).toEqual([]);
  });

  test('sets variables that each of its files reads, itself or through what it imports', () => {
    for (const file of filesOf(proof)) {
      const imports = [...read(file).matchAll(/from '(\.[^']+)\.js'/g)].map(([, name]) =>
        path.join(path.dirname(file), `${name}.ts`),
      );
      const known = [file, ...imports]
        .filter((name) => existsSync(name))
        .flatMap((name) => variablesIn(read(name)));
      expect(known, file).toEqual(expect.arrayContaining(Object.keys(proof.env)));
    }
  });

  test('is on the page about testing', () => {
    const page = read('docs/testing.md');
    for (const [name, value] of Object.entries(proof.env)) expect(page).toContain(`${name}=${value}`);
  });
});

test('every variable that tests read is in a row, or known to make nothing longer', () => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const found = new Set(files.flatMap((name) => variablesIn(read(path.join('test', name)))));
  const inRows = proofs.flatMap(({ env }) => Object.keys(env));
  for (const name of [...inRows, ...NOT_LONG, ...MACHINERY]) found.delete(name);
  expect([...found]).toEqual([]);
});

describe('the command line', () => {
  const names = ({ proofs: chosen }: { proofs?: { name: string }[] }) => chosen?.map(({ name }) => name);

  test('takes all without a name, and the named ones in their order', () => {
    expect(names(parseLongArguments([]))).toEqual(proofs.map(({ name }) => name));
    expect(names(parseLongArguments(['scheduler', 'store']))).toEqual(['store', 'scheduler']);
  });

  test('refuses a name that it does not know', () => {
    expect(parseLongArguments(['store', 'nonsense'])).toEqual({ refusal: 'no proof is called nonsense' });
  });

  test('tells each proof and what it sets', () => {
    expect(parseLongArguments(['--help'])).toEqual({ help: true });
    for (const { name, env } of proofs) {
      expect(longUsage()).toContain(`  ${name} `);
      for (const variable of Object.keys(env)) expect(longUsage()).toContain(`${variable}=`);
    }
  });
});

test('a value that is set already stays, and the others are set', () => {
  const proof = {
    project: 'e2e',
    machine: undefined,
    tests: ['nodes'],
    only: 'answer',
    env: { A: '600', B: '100' },
  };
  expect(vitestCall(proof, { B: '2', C: '3' })).toEqual({
    projects: ['e2e'],
    vitestArgs: ['nodes', '-t', 'answer'],
    env: { A: '600', B: '2' },
  });
});

test('a proof that names a machine is run there', () => {
  const proof = { project: 'kernel', machine: 'qemu', tests: ['proxy'], only: undefined, env: {} };
  expect(vitestCall(proof, {})).toMatchObject({ projects: ['kernel'], machine: 'qemu' });
});
