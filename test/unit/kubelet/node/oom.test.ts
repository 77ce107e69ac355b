import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { type OomKill, parseOomKill, parseRecord } from '../../../../src/kubelet/node/oom.js';
import { OomWatcher } from '../../../../src/kubelet/node/oomWatcher.js';

const LINE =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user,task=stress,pid=42,uid=0';

test('a record of the kernel log', () => {
  expect(parseRecord(`4,12,99,-;${LINE}\n SUBSYSTEM=x\n`)).toEqual({ atUs: 99, text: LINE });
  expect(parseRecord('no record')).toBeUndefined();
});

test('a kill of the whole machine, one of a group, and other lines', () => {
  expect(parseOomKill(LINE)).toEqual({ process: 'stress', pid: 42, group: '/' });
  const group = LINE.replace('CONSTRAINT_NONE', 'CONSTRAINT_MEMCG').replace(
    'global_oom',
    'oom_memcg=/kubepods/podx',
  );
  expect(parseOomKill(group)).toEqual({ process: 'stress', pid: 42, group: '/kubepods/podx' });
  expect(parseOomKill('Out of memory: something else')).toBeUndefined();
});

test('only what happens after the start is told, and a log that cannot be read is no failure', async () => {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'trellis-oom-'));
  const file = path.join(directory, 'kmsg');
  const told: OomKill[] = [];
  const watch = async (name: string) => {
    const watcher = new OomWatcher({ killed: (kill) => told.push(kill), log: silentLog, file: name });
    await watcher.start();
    await watcher.stop();
  };
  try {
    writeFileSync(file, `4,1,1,-;${LINE}\n`);
    await watch(file);
    expect(told).toEqual([]);
    writeFileSync(file, `4,2,${Math.round((os.uptime() + 60) * 1e6)},-;${LINE}\n`);
    await watch(file);
    expect(told).toEqual([{ process: 'stress', pid: 42, group: '/' }]);
    await watch(path.join(directory, 'none'));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
