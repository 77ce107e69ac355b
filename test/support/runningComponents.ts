// A scheduler, or controllers, with copies of their own, as a new process would have.
import { silentLog } from '../../src/api/log.js';
import type { Client } from '../../src/client/client.js';
import { makeEventRecorder } from '../../src/client/eventRecorder.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { type ControllersOptions, runControllers } from '../../src/controllers/run.js';
import { Scheduler, type SchedulerOptions } from '../../src/scheduler/scheduler.js';

/** Returns what stops it and closes the client. */
export function startScheduler(client: Client, options: Partial<SchedulerOptions> = {}): () => Promise<void> {
  const informers = openInformers(client);
  const recorder = makeEventRecorder(client, { component: 'default-scheduler' });
  const stop = new AbortController();
  const { signal } = stop;
  const running = new Scheduler({ client, informers, log: silentLog, recorder, signal, ...options }).run();
  return async () => {
    stop.abort();
    await running;
    await recorder.flush();
    informers.stop();
    client.close();
  };
}

/** Returns what stops them and closes the client. */
export function startControllers(
  client: Client,
  options: Omit<ControllersOptions, 'client' | 'informers' | 'log' | 'signal'>,
): () => Promise<void> {
  const informers = openInformers(client);
  const stop = new AbortController();
  const ended = runControllers({ client, informers, log: silentLog, signal: stop.signal, ...options });
  return async () => {
    stop.abort();
    await ended;
    informers.stop();
    client.close();
  };
}
