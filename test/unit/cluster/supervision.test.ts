// A start of several processes: whose word ends the wait, and what is left of one that fails.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { makePrivateDir } from '../../../src/cluster/files.js';
import { type Layout, layoutOf } from '../../../src/cluster/layout.js';
import { defaultSettings } from '../../../src/cluster/settings.js';
import { readState } from '../../../src/cluster/state.js';
import type { Step } from '../../../src/cluster/steps.js';
import { type Prepared, type RunningCluster, startComponents } from '../../../src/cluster/supervision.js';
import { isAlive } from '../../../src/kernel/processIdentity.js';

let dir = '';
let layout: Layout;
const steps: Step[] = [];
const running: RunningCluster[] = [];
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-supervision-'));
  layout = {
    ...layoutOf(dir),
    runDir: path.join(dir, 'run'),
    stateFile: path.join(dir, 'run', 'state.json'),
  };
  await makePrivateDir(layout.logDir);
  steps.length = 0;
});
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
  rmSync(dir, { recursive: true });
});

/** A process that says these things, one after the other, and stays. */
const speaker = (name: string, ...said: Step[]) => {
  const words = said.map((step) => `process.send(${JSON.stringify(step)});`).join('');
  return { name, command: [process.execPath, '-e', `${words}setInterval(()=>{},1000)`], speaks: true };
};

async function start(
  prepared: Omit<Prepared, 'settings'>,
  timeoutMs = 60_000,
  signal?: AbortSignal,
): Promise<RunningCluster> {
  const cluster = await startComponents(
    {
      layout,
      self: [],
      cniBinDir: '',
      timeoutMs,
      signal,
      log: silentLog,
      keepPods: true, // there are none, so nothing of the machine is touched
      sink: (step) => steps.push(step),
    },
    async () => ({ settings: defaultSettings('n'), ...prepared }),
  );
  running.push(cluster);
  return cluster;
}

const aliveNow = async () =>
  Object.values((await readState(layout)).components).filter((component) => isAlive(component)).length;

describe('a start', () => {
  test('is not kept out by a foreign process that took a name, but by another start on the same data', async () => {
    const squatter = createServer().listen(`\0trellis-${layout.id}`);
    await once(squatter, 'listening');
    try {
      const only = { components: [speaker('agent', { type: 'ready', who: 'agent' })], awaits: ['agent'] };
      await start(only);
      // As from another container: its state is elsewhere, its data the same.
      layout = { ...layout, stateFile: path.join(dir, 'elsewhere', 'state.json') };
      await expect(start(only)).rejects.toMatchObject({
        code: 'ALREADY_RUNNING',
        message: expect.stringContaining(`(process ${process.pid})`),
      });
    } finally {
      squatter.close();
    }
  });

  test('is over when the one says so whose word counts', async () => {
    const server = speaker('server', { type: 'ready', who: 'server' });
    const agent = speaker(
      'agent',
      { type: 'note', name: 'agent', text: 'soon' },
      { type: 'ready', who: 'agent' },
    );
    await start({ components: [server, agent], awaits: ['agent'] });
    expect(steps.filter(({ type }) => type === 'ready')).toEqual([{ type: 'ready', who: 'agent' }]);
    expect(await aliveNow()).toBe(2);
  });

  test('that a part gives up ends them all, with the reason', async () => {
    const agent = speaker('agent', { type: 'failed', name: 'join', text: 'no way' });
    await expect(start({ components: [speaker('server'), agent], awaits: ['agent'] })).rejects.toMatchObject({
      code: 'COMPONENT_FAILED',
      message: 'join: no way',
    });
    expect(await aliveNow()).toBe(0);
  });

  test('that takes too long ends with what it waits for', async () => {
    const agent = speaker('agent', { type: 'begin', name: 'node Ready' });
    await expect(start({ components: [agent], awaits: ['agent'] }, 1_000)).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('not every node was Ready within 1 s'),
    });
    expect(await aliveNow()).toBe(0);
  });

  test('that says nothing ends with whose word it waited for', async () => {
    const parts = ['agent', 'one-2'].map((name) => speaker(name));
    const components = [speaker('server', { type: 'ready', who: 'server' }), ...parts];
    await expect(start({ components, awaits: ['agent', 'one-2'] }, 1_000)).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('still waiting for agent, one-2'),
    });
  });

  test('that somebody interrupts ends them all at once', async () => {
    const ending = new AbortController();
    const agent = speaker('agent', { type: 'begin', name: 'node Ready' });
    const starting = start(
      { components: [agent], awaits: ['agent'], isPatient: true },
      60_000,
      ending.signal,
    );
    await expect.poll(() => steps.some(({ type }) => type === 'begin')).toBe(true);
    ending.abort();
    await expect(starting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await aliveNow()).toBe(0);
  });

  test('that somebody interrupts while it waits for another machine waits no longer', async () => {
    const ending = new AbortController();
    const options = {
      layout,
      self: [],
      cniBinDir: '',
      timeoutMs: 60_000,
      signal: ending.signal,
      log: silentLog,
    };
    const forever = new Promise<Prepared>(() => {});
    const starting = startComponents({ ...options, sink: () => {} }, () => forever);
    ending.abort();
    await expect(starting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    // The directory is free again.
    const agent = speaker('agent', { type: 'ready', who: 'agent' });
    await start({ components: [agent], awaits: ['agent'] });
  });

  test('that was interrupted before it began starts nothing for long', async () => {
    const agent = speaker('agent');
    const starting = start({ components: [agent], awaits: ['agent'] }, 60_000, AbortSignal.abort());
    await expect(starting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await aliveNow()).toBe(0);
  });

  test('of a node that has pods goes on waiting', async () => {
    const script = `setTimeout(()=>process.send({type:'ready',who:'agent'}),1000);setInterval(()=>{},1000)`;
    const agent = { name: 'agent', command: [process.execPath, '-e', script], speaks: true };
    await start({ components: [agent], awaits: ['agent'], isPatient: true }, 10);
    expect(steps).toContainEqual(
      expect.objectContaining({ type: 'note', text: expect.stringContaining('every node was Ready within') }),
    );
  });

  test('beside another of the same directory is refused', async () => {
    const agent = speaker('agent', { type: 'ready', who: 'agent' });
    await start({ components: [agent], awaits: ['agent'] });
    await expect(start({ components: [agent], awaits: ['agent'] })).rejects.toMatchObject({
      code: 'ALREADY_RUNNING',
    });
  });
});
