// Python's stock client (Debian's python3-kubernetes) against `trellis apiserver`.
// Guarantees: every check of checks.py is a test here; one that the script lost would be missed by name.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServerCommand, startApiServerCommand } from '../../../support/apiServerCommand.js';
import { describeWith } from '../../../support/requires.js';

// Debian's own interpreter: another one on the PATH has not Debian's modules.
const PYTHON = '/usr/bin/python3';
const SCRIPT = path.join(import.meta.dirname, 'checks.py');
const CHECKS = [...readFileSync(SCRIPT, 'utf8').matchAll(/^@check\ndef (\w+)\(/gm)].map(([, name]) =>
  (name ?? '').replaceAll('_', ' '),
);

const needs = { files: [PYTHON, '/usr/lib/python3/dist-packages/kubernetes/__init__.py'] };

describeWith(needs, "Python's kubernetes client", () => {
  let api: ApiServerCommand;
  let problems: ReadonlyMap<string, string | null>;

  beforeAll(async () => {
    api = await startApiServerCommand();
    const lines = (await run(api.kubeconfig)).trim().split('\n');
    problems = new Map(lines.map((line) => JSON.parse(line)).map(({ name, problem }) => [name, problem]));
  }, 120_000);
  afterAll(() => api?.close());

  test.each(CHECKS)('%s', (name) => {
    expect(problems.get(name)).toBeNull();
  });
});

function run(kubeconfig: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(PYTHON, [SCRIPT, kubeconfig], { timeout: 100_000 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stdout}\n${stderr}`)),
    );
  });
}
