// The trellis command line, without a process of its own.
// Guarantees: wrong command lines get exit code 2 and a hint; help teaches; doctor's verdict is the exit code.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { wantsColour } from '../../../src/cli/terminal.js';
import { trellis as runTrellis } from '../../support/trellisCommand.js';
import { FakeMachine, type FakeMachineState } from '../doctor/fakeMachine.js';

const trellis = (args: readonly string[], machine: FakeMachineState = {}) =>
  runTrellis(args, new FakeMachine(machine));

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await trellis(['--version'])).toEqual({ out: `${version}\n`, err: '', code: 0 });
});

test.each([[[]], [['--help']], [['help']]])('%j shows the help on standard output', async (args) => {
  const { out, err, code } = await trellis(args);
  expect(out).toContain('trellis doctor ');
  expect([err, code]).toEqual(['', 0]);
});

test('the help does not say of each switch that alone it is true', async () => {
  const { out } = await trellis(['controller-manager', '--help']);
  expect(out).toMatch(/--leader-elect \[bool\] .*\(default: true\)\n/);
  expect(out).not.toContain('preset');
});

test("a command's help explains its exit codes", async () => {
  expect((await trellis(['doctor', '--help'])).out).toContain('Exit code: 0');
});

describe('a wrong command line', () => {
  test.each([
    ['an unknown command', ['docter'], '(Did you mean doctor?)'],
    ['an unknown flag', ['--versoin'], '(Did you mean --version?)'],
    ['an unknown flag of a command', ['doctor', '--outptu', 'json'], '(Did you mean --output?)'],
    ['a wrong value', ['doctor', '-o', 'yaml'], 'Allowed choices are table, json'],
    ['a value left out', ['doctor', '-o'], 'argument missing'],
    ['an argument too many', ['doctor', 'now'], 'too many arguments'],
  ])('%s', async (_, args, hint) => {
    const { out, err, code } = await trellis(args);
    expect(err).toContain(hint);
    expect(err).toMatch(/Run "trellis (doctor )?--help"/);
    expect([out, code]).toEqual(['', 2]);
  });
});

describe('doctor', () => {
  test('fails on a machine without anything', async () => {
    const { out, code } = await trellis(['doctor']);
    expect(out).toContain('Required but missing: Linux,');
    expect(code).toBe(1);
  });

  test('speaks JSON', async () => {
    const { out } = await trellis(['doctor', '-o', 'json'], { tools: { nft: 'nftables v9.8.7' } });
    const { findings } = JSON.parse(out) as { findings: { id: string; found: string }[] };
    expect(findings.find(({ id }) => id === 'tool-nft')?.found).toBe('9.8.7');
  });
});

test.each([
  ['a terminal', {}, true, true],
  ['a pipe', {}, false, false],
  ['NO_COLOR', { NO_COLOR: '1' }, true, false],
  ['an empty NO_COLOR', { NO_COLOR: '' }, true, true],
  ['a dumb terminal', { TERM: 'dumb' }, true, false],
])('colour with %s', (_, env, isTty, expected) => {
  expect(wantsColour(env, isTty)).toBe(expected);
});

describe('logs', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trellis-logs-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'logs', 'pods'), { recursive: true });
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} of a log that is longer than a chunk\n`);
  writeFileSync(path.join(folder, 'logs', 'agent.log'), lines.join(''));
  writeFileSync(path.join(folder, 'logs', 'server.log'), 'one\ntwo');
  const logs = (...args: string[]) => trellis(['logs', '--data-dir', folder, ...args]);

  test('names the components that have written', async () => {
    expect((await logs()).out).toBe('agent\nserver\n');
  });

  test.each([
    ['the last lines', ['agent', '--tail', '3'], lines.slice(-3).join('')],
    ['no more than there are', ['server', '--tail', '9'], 'one\ntwo'],
    ['many chunks', ['agent', '--tail', '15000'], lines.slice(-15_000).join('')],
    ['none', ['agent', '--tail', '0'], ''],
  ])('shows %s', async (_, args, expected) => {
    expect((await logs(...args)).out).toBe(expected);
  });

  test('says which there are when one is not', async () => {
    const { err, code } = await logs('../secret');
    expect(err).toMatch(/no log of "..\/secret" in .*; there are: agent, server/);
    expect(code).toBe(1);
  });
});
