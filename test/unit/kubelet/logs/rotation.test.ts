import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { LogRotator } from '../../../../src/kubelet/logs/logRotator.js';
import { planRotation, rotatedName } from '../../../../src/kubelet/logs/rotation.js';
import { podOf, run } from '../support.js';

const at = (day: number) => `0.log.2026010${day}-000000`;

test('the name of a rotated log has its time', () => {
  expect(rotatedName('0.log', Date.UTC(2026, 0, 31, 23, 59, 58))).toBe('0.log.20260131-235958');
});

describe('the plan', () => {
  test('the oldest beyond the limit go, the rest is compressed', () => {
    const names = ['0.log', `${at(1)}.gz`, `${at(2)}.gz`, at(3), '1.log', '1.log.20260101-000000'];
    expect(planRotation('0.log', names, 4)).toEqual({ remove: [`${at(1)}.gz`], compress: [at(3)] });
  });

  test('what a crash left is cleaned', () => {
    const names = ['0.log', at(1), `${at(1)}.gz`, `${at(2)}.tmp`, at(2), '0.log.other'];
    expect(planRotation('0.log', names, 5)).toEqual({ remove: [`${at(2)}.tmp`, at(1)], compress: [at(2)] });
  });

  test('with two files only the log and the one before it stay', () => {
    expect(planRotation('0.log', ['0.log', at(1)], 2)).toEqual({ remove: [at(1)], compress: [] });
  });
});

describe('rotation', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'trellis-logs-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const rotator = (reopen: (id: string) => Promise<void>, logPath: string) =>
    new LogRotator({
      config: {
        podLogsDir: directory,
        containerLogMaxBytes: 5,
        containerLogMaxFiles: 3,
        containerLogMonitorIntervalMs: 1,
      },
      runtime: { reopenContainerLog: reopen },
      running: () => [run(podOf(), 'web', 'running', { logPath })],
      log: silentLog,
      now: () => Date.UTC(2026, 0, 9),
    });

  test('renames the log, has a new one opened, and compresses the older', async () => {
    const file = path.join(directory, '0.log');
    writeFileSync(file, 'long enough');
    writeFileSync(path.join(directory, at(8)), 'older');
    await rotator(async () => writeFileSync(file, ''), file).round();
    expect(readdirSync(directory).sort()).toEqual(['0.log', `${at(8)}.gz`, at(9)]);
    expect(readFileSync(path.join(directory, at(9)), 'utf8')).toBe('long enough');
    expect(gunzipSync(readFileSync(path.join(directory, `${at(8)}.gz`))).toString()).toBe('older');
  });

  test.each(['', '.gz'])(
    'a log that grows twice in one second keeps what was rotated first%s',
    async (packed) => {
      const file = path.join(directory, '0.log');
      writeFileSync(file, 'long enough again');
      writeFileSync(path.join(directory, `${at(9)}${packed}`), 'of this second');
      await rotator(() => Promise.reject(new Error('not to be called')), file).round();
      expect(readdirSync(directory).sort()).toEqual(['0.log', `${at(9)}${packed}`]);
      expect(readFileSync(path.join(directory, `${at(9)}${packed}`), 'utf8')).toBe('of this second');
      expect(readFileSync(file, 'utf8')).toBe('long enough again');
    },
  );

  test('a runtime that refuses leaves the log under its name', async () => {
    const file = path.join(directory, '0.log');
    writeFileSync(file, 'long enough');
    await rotator(() => Promise.reject(new Error('no')), file).round();
    expect(readdirSync(directory)).toEqual(['0.log']);
  });

  test('a log that a crash left without its file is opened again, and rotated again later', async () => {
    const file = path.join(directory, '0.log');
    writeFileSync(path.join(directory, at(8)), 'the runtime still writes here');
    const reopened: string[] = [];
    const one = rotator(async (id) => {
      reopened.push(id);
      writeFileSync(file, 'long enough');
    }, file);
    await one.round();
    expect([reopened.length, readdirSync(directory).sort()]).toEqual([1, ['0.log', at(8)]]);
    await one.round();
    expect([reopened.length, readdirSync(directory).sort()]).toEqual([2, ['0.log', `${at(8)}.gz`, at(9)]]);
  });

  test('a small log, and one outside of the logs, are left alone', async () => {
    const small = path.join(directory, '0.log');
    writeFileSync(small, 'few');
    const never = () => Promise.reject(new Error('not to be called'));
    await rotator(never, small).round();
    await rotator(never, '/etc/passwd').round();
    expect(existsSync('/etc/passwd')).toBe(true);
    expect(readdirSync(directory)).toEqual(['0.log']);
  });
});
