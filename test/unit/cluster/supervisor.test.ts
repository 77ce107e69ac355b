import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { makePrivateDir } from '../../../src/cluster/files.js';
import { type Layout, layoutOf } from '../../../src/cluster/layout.js';
import { readState } from '../../../src/cluster/state.js';
import type { Step } from '../../../src/cluster/steps.js';
import { Supervisor } from '../../../src/cluster/supervisor.js';
import { isAlive } from '../../../src/kernel/processIdentity.js';

let dir = '';
let layout: Layout;
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-supervisor-'));
  layout = {
    ...layoutOf(dir),
    runDir: path.join(dir, 'run'),
    stateFile: path.join(dir, 'run', 'state.json'),
  };
  await makePrivateDir(layout.logDir);
});
afterEach(() => rmSync(dir, { recursive: true }));

async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(10);
  }
}
const script = (text: string) => ['/bin/sh', '-c', text];
const steps: Step[] = [];
const start = async (command: readonly string[], speaks = false) => {
  steps.length = 0;
  const supervisor = new Supervisor(layout, (step) => steps.push(step), silentLog);
  await supervisor.start([{ name: 'part', command, speaks }]);
  return supervisor;
};

describe('the supervisor', () => {
  test('writes down who runs, and ends them', async () => {
    const supervisor = await start(script('echo started; exec sleep 1000'));
    const state = await readState(layout);
    expect(state.supervisor?.pid).toBe(process.pid);
    const part = state.components['part'];
    expect(part !== undefined && isAlive(part)).toBe(true);
    await until(
      async () => readFileSync(path.join(layout.logDir, 'part.log'), 'utf8').includes('started') || undefined,
    );
    await supervisor.stop();
    expect(part !== undefined && isAlive(part)).toBe(false);
  });

  test('goes on when it cannot write down who runs, and writes it down once it can', async () => {
    const failures: string[] = [];
    const log = { ...silentLog, error: (message: string) => void failures.push(message) };
    const supervisor = new Supervisor(layout, () => {}, log);
    await supervisor.start([{ name: 'part', command: script('exec sleep 1000'), speaks: false }]);
    const first = (await readState(layout)).components['part'];
    // No file can be made here any more.
    rmSync(layout.runDir, { recursive: true });
    writeFileSync(layout.runDir, '');
    process.kill(first?.pid ?? 0, 'SIGKILL');
    await until(async () => (failures.length > 0 ? true : undefined));
    rmSync(layout.runDir);
    const second = await until(async () => {
      const part = (await readState(layout)).components['part'];
      return part?.pid === first?.pid ? undefined : part;
    });
    expect(isAlive(second)).toBe(true);
    await supervisor.stop();
  });

  test('starts again what died, and says so', async () => {
    const supervisor = await start(script('exec sleep 1000'));
    const first = (await readState(layout)).components['part'];
    process.kill(first?.pid ?? 0, 'SIGKILL');
    const second = await until(async () => {
      const { part } = (await readState(layout)).components as Record<string, typeof first>;
      return part?.pid === first?.pid ? undefined : part;
    });
    expect(second !== undefined && isAlive(second)).toBe(true);
    expect(steps).toContainEqual(
      expect.objectContaining({ type: 'note', text: expect.stringContaining('SIGKILL') }),
    );
    await supervisor.stop();
  });

  test('says what is wrong with a program that is not there', async () => {
    const supervisor = await start(['/nowhere/program']);
    await until(async () => steps.find(({ type }) => type === 'note'));
    expect(steps).toContainEqual(expect.objectContaining({ text: expect.stringContaining('ENOENT') }));
    await supervisor.stop();
  });

  test('passes steps on, and remembers when it was ready', async () => {
    const supervisor = await start(
      [process.execPath, '-e', "process.send({type:'ready',who:'agent'});setInterval(()=>{},1000)"],
      true,
    );
    await until(async () => (await readState(layout)).readyAt);
    expect(steps).toEqual([{ type: 'ready', who: 'agent' }]);
    await supervisor.stop();
  });
});
