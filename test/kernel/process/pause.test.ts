// The pause program: ends when asked to, and reaps what is orphaned into its namespace.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { isStaticProgram } from '../../../src/cluster/images/elf.js';
import { describeWith } from '../../support/requires.js';

const PAUSE = path.resolve('build/Release/pause');

describeWith({ root: true, tools: ['unshare', 'nsenter'], files: [PAUSE] }, 'the pause program', () => {
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });
  const childrenOf = (pid: number) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    for (let tries = 0; tries < 500; tries++) {
      const found = look();
      if (found !== undefined) return found;
      await sleep(10);
    }
    throw new Error('it did not come to pass');
  };

  /** As process 1 of a process namespace; the number is the one seen from here. */
  const startAsFirst = async () => {
    const holder = spawn('unshare', ['--pid', '--fork', '--kill-child', PAUSE]);
    started.push(holder);
    const pid = await until(() => childrenOf(holder.pid ?? 0)[0]);
    // Forked is not yet started, and a signal that comes before it is waited for is lost on process 1.
    await until(() => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return /^Name:\s+pause$/m.test(status) && /^State:\s+S/m.test(status) ? true : undefined;
    });
    return { holder, pid };
  };

  test('is static and small', () => {
    expect(isStaticProgram(readFileSync(PAUSE))).toBe(true);
    expect(statSync(PAUSE).size).toBeLessThan(1_000_000);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('ends with code 0 on %s, also as process 1', async (signal) => {
    const { holder, pid } = await startAsFirst();
    const ended = once(holder, 'exit');
    process.kill(pid, signal);
    expect(await ended).toEqual([0, null]);
  });

  test('reaps processes that lost their parent', async () => {
    const { pid } = await startAsFirst();
    // The inner shell ends before its child, which then belongs to process 1.
    execFileSync('nsenter', [`--target=${pid}`, '--pid', 'sh', '-c', '(sleep 0.1 &)'], { stdio: 'ignore' });
    await until(() => (childrenOf(pid).length === 0 ? true : undefined));
  });
});
