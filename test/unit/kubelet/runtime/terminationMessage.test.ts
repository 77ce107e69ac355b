// What a container left to say, from files as containers and runtimes write them.
// Guarantees: lines and bytes are bounded, and a last line without an end stays without one.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContainerStatus } from '../../../../src/cri/runtime.js';
import { terminationMessage } from '../../../../src/kubelet/runtime/terminationMessage.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trellis-message-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = '2026-01-02T03:04:05.000000000Z stdout';

function messageOf({ file = '', log = '', exitCode = 1, policy = 'FallbackToLogsOnError' }) {
  const hostPath = path.join(folder, 'message');
  const logPath = path.join(folder, '0.log');
  writeFileSync(hostPath, file);
  writeFileSync(logPath, log);
  const run = {
    annotations: {
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': policy,
    },
    mounts: [{ containerPath: '/dev/termination-log', hostPath }],
    exitCode,
    logPath,
    message: '',
  };
  return terminationMessage(run as unknown as ContainerStatus, folder);
}

test.each([
  ['the file', { file: 'OK', log: `${at} F log\n` }, 'OK'],
  ['the log when the file is empty', { log: `${at} F one\n${at} F two\n` }, 'one\ntwo\n'],
  ['a last line without an end', { log: `${at} P DONE\n` }, 'DONE'],
  ['a line in pieces', { log: `${at} P one \n${at} F line\n` }, 'one line\n'],
  ['nothing of a container that succeeded', { exitCode: 0, log: `${at} F log\n` }, ''],
  ['nothing of the log unless asked', { policy: 'File', log: `${at} F log\n` }, ''],
])('%s', async (_, given, want) => {
  expect(await messageOf(given)).toBe(want);
});

test('the last 4096 bytes of the file', async () => {
  const said = await messageOf({ file: `${'x'.repeat(10_000)}why it ended` });
  expect([said.length, said.endsWith('xwhy it ended')]).toEqual([4096, true]);
});

test('the last 80 lines and 2048 bytes of a log', async () => {
  const lines = Array.from({ length: 300 }, (_, line) => `${at} F ${line}\n`).join('');
  expect((await messageOf({ log: lines })).split('\n').slice(0, 1)).toEqual(['220']);
  const long = Array.from({ length: 80 }, () => `${at} F ${'x'.repeat(99)}\n`).join('');
  expect(await messageOf({ log: long })).toHaveLength(2048);
});
