// Workers leave the event loop its turns, however many keys there are to look at.
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { runWorkers } from '../../../src/client/worker.js';
import { KeyQueue } from '../../../src/client/workQueue.js';

test('lets timers fire while keys that need no waiting follow one another', async () => {
  const queue = new KeyQueue();
  queue.add('again');
  let fired = false;
  setTimeout(() => {
    fired = true;
    queue.shutDown();
  }, 1);
  // Adds itself for ever: without turns between, the timer would never come.
  const sync = async (key: string) => {
    if (!fired) queue.add(key);
  };
  await runWorkers({ queue, concurrency: 1, log: silentLog, sync });
  expect(fired).toBe(true);
}, 30_000);
