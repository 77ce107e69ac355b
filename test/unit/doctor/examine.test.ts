// Doctor from table to report, on a machine made of tables, and the sandbox script on a real shell.
// Guarantees: the whole table is well formed, and the verdict depends on what is required alone.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { PACKAGES } from '../../../scripts/lib/packages.mjs';
import type { Check } from '../../../src/doctor/check.js';
import { allChecks, kernelFeatures } from '../../../src/doctor/checks/index.js';
import { examine } from '../../../src/doctor/examine.js';
import { parseSandboxOutput, sandboxScript } from '../../../src/doctor/sandbox.js';
import { FakeMachine } from './fakeMachine.js';

const feature = (id: string, tool: string, need: Check['need'] = 'required'): Check => ({
  id,
  section: 'Devices',
  title: id,
  need,
  purpose: 'p',
  remedy: 'r',
  probe: { kind: 'kernel', tool, script: `${tool} ${id}` },
});

describe('the table', () => {
  test('has unique ids that a shell can carry', () => {
    const ids = allChecks.map((check) => check.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[\w.+-]+$/.test(id))).toEqual([]);
  });

  test('says of every row what it is for and how to get it', () => {
    expect(allChecks.filter(({ purpose, remedy, title }) => [purpose, remedy, title].includes(''))).toEqual(
      [],
    );
  });

  test('contains every kernel feature', () => {
    expect(kernelFeatures.filter((check) => !allChecks.includes(check))).toEqual([]);
  });

  test('names the packages that set-up installs', () => {
    const remedies = allChecks.map((check) => check.remedy);
    const tools = PACKAGES.filter(({ probe }) => 'tool' in probe).map(({ name }) => name);
    expect(tools.filter((name) => !remedies.includes(`apt-get install ${name}`))).toEqual([]);
  });
});

describe('examine', () => {
  test('asks everything in one sandbox and keeps the order of the table', async () => {
    const machine = new FakeMachine({ tools: { ip: '', tc: '' }, kernel: { b: { code: 2, output: 'no' } } });
    const report = await examine([feature('a', 'ip'), feature('b', 'tc', 'optional')], machine);
    expect(machine.scripts).toHaveLength(1);
    expect(report.findings.map(({ check, state }) => [check.id, state])).toEqual([
      ['a', 'present'],
      ['b', 'missing'],
    ]);
    expect(report.ok).toBe(true);
  });

  test('lets a row judge what its tool printed, and says when it may not ask', async () => {
    const rows = allChecks.filter(({ id }) => /^forward-policy-iptables-/.test(id));
    const machine = new FakeMachine({
      tools: {
        'iptables-nft-save': '*filter\n:FORWARD DROP [0:0]\nCOMMIT\n',
        'iptables-legacy-save': 'iptables-legacy-save: Permission denied (you must be root)',
      },
    });
    const { findings } = await examine(rows, machine);
    expect(findings.map(({ state, found }) => [state, found])).toEqual([
      ['present', expect.stringMatching(/^DROP; /)],
      ['unknown', expect.stringContaining('not allowed')],
    ]);
  });

  test('fails when something required is missing', async () => {
    const machine = new FakeMachine({ tools: { ip: '' }, kernel: { a: { code: 2, output: 'no' } } });
    expect((await examine([feature('a', 'ip')], machine)).ok).toBe(false);
  });

  test('says which tool was missing instead of blaming the kernel', async () => {
    const report = await examine([feature('a', 'nft')], new FakeMachine({}));
    expect(report.findings[0]).toMatchObject({
      state: 'unknown',
      found: 'could not ask: the tool nft is missing',
    });
    expect(report.ok).toBe(true);
  });

  test('says why there was no sandbox', async () => {
    const machine = new FakeMachine({
      tools: { ip: '' },
      sandboxRefused: 'unshare: Operation not permitted',
    });
    const report = await examine([feature('a', 'ip')], machine);
    expect(report.findings[0]).toMatchObject({
      state: 'unknown',
      found: 'could not ask: unshare: Operation not permitted',
    });
  });
});

describe('the sandbox script', () => {
  const runInShell = (script: string) => {
    // Without the mounts, which need namespaces of their own.
    const [, ...rest] = script.split('\n');
    return parseSandboxOutput(execFileSync('sh', ['-c', rest.join('\n')], { encoding: 'utf8' }));
  };

  test('keeps questions apart, whatever they do and print', () => {
    const answers = runInShell(
      sandboxScript([
        { id: 'exits', script: 'exit 7' },
        { id: 'prints', script: 'echo "one\ttwo"; echo three >&2' },
        { id: 'reads', script: 'cat' },
        { id: 'sets', script: 'leaked=1; test -z "$other"' },
        { id: 'sees', script: 'test -z "$leaked"' },
      ]),
    );
    expect(Object.fromEntries(answers)).toEqual({
      exits: { code: 7, output: '' },
      prints: { code: 0, output: 'one\ttwo\nthree' },
      reads: { code: 0, output: '' },
      sets: { code: 0, output: '' },
      sees: { code: 0, output: '' },
    });
  });

  test('an answer that was cut off is left out', () => {
    expect([...parseSandboxOutput('a\x000\x00fine\x00b\x00').keys()]).toEqual(['a']);
  });

  test('every script of the table is one that a shell can read', () => {
    expect(() =>
      execFileSync('sh', [
        '-n',
        '-c',
        sandboxScript(kernelFeatures.map(({ id, probe }) => ({ id, script: probe.script }))),
      ]),
    ).not.toThrow();
  });
});
