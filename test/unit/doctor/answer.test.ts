// What doctor makes of a machine's words.
// Guarantees: "lacks it", "too low" and "could not ask" are never confused.
import { expect, test } from 'vitest';
import { answer, versionIn } from '../../../src/doctor/answer.js';
import { type Check, missing, type Observation, present } from '../../../src/doctor/check.js';

const check: Check = {
  id: 'x',
  section: 's',
  title: 't',
  need: 'optional',
  purpose: 'p',
  remedy: 'r',
  probe: {
    kind: 'file',
    paths: ['/x'],
    judge: (text) => (text === 'good' ? present('good') : missing('bad')),
  },
};

const cases: [string, Observation, string, string][] = [
  ['exit 0 is present', { kind: 'exit', code: 0, output: 'warning: x' }, 'present', 'yes'],
  [
    "the kernel's refusal is quoted",
    { kind: 'exit', code: 2, output: 'Error: Unknown device type.\n' },
    'missing',
    'kernel lacks it: Unknown device type.',
  ],
  [
    'noise of modprobe is passed over',
    { kind: 'exit', code: 2, output: "modprobe: FATAL: Module ip_vs not found\nCan't initialize ipvs" },
    'missing',
    "kernel lacks it: Can't initialize ipvs",
  ],
  ['a silent refusal', { kind: 'exit', code: 1, output: '' }, 'missing', 'kernel lacks it'],
  [
    'missing rights are not a missing feature',
    { kind: 'exit', code: 2, output: 'RTNETLINK answers: Operation not permitted' },
    'unknown',
    'not allowed to ask: Operation not permitted',
  ],
  ['what was not asked is unknown', { kind: 'unasked', why: 'no nft' }, 'unknown', 'no nft'],
  [
    'a program with a version',
    { kind: 'program', path: '/b/nft', output: 'nftables v1.0.6 (L)' },
    'present',
    '1.0.6',
  ],
  ['a program without one', { kind: 'program', path: '/b/capsh', output: '' }, 'present', '/b/capsh'],
  ['no program', { kind: 'program', path: null, output: '' }, 'missing', 'not installed'],
  ['a file that is not there', { kind: 'text', text: null }, 'missing', 'not there'],
  ['a file is judged by its check', { kind: 'text', text: 'good' }, 'present', 'good'],
];

test.each(cases)('%s', (_, observation, state, found) => {
  expect(answer(check, observation)).toEqual({ state, found });
});

test.each([
  ['ip utility, iproute2-6.1.0, libbpf 1.1.0', '6.1.0'],
  ['g++ (Debian 12.2.0-14) 12.2.0', '12.2.0-14'],
  ['Client Version: version.Info{Major:"1", GitVersion:"v1.20.2"}', '1.20.2'],
  ['kmod version 30', null],
])('the version in "%s"', (output, version) => {
  expect(versionIn(output)).toBe(version);
});
