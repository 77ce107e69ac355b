// Pods under a taint that tells no time, as people put them with kubectl.
// Guarantees: such a pod leaves when its time is over, and stays when the taint goes first.
import { expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { NODES, PODS } from '../../../../src/api/resources.js';
import { taintEvictionController } from '../../../../src/controllers/node/taintEviction.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { StaticInformers } from '../../../support/staticInformers.js';
import { until } from '../../../support/until.js';

const taints = [{ key: 'k', value: 'v', effect: 'NoExecute' }];
const node = (name: string, spec: object = {}) => ({ metadata: { name, uid: name }, spec });
const pod = (name: string, nodeName: string) => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { nodeName, tolerations: [{ key: 'k', operator: 'Exists', tolerationSeconds: 1 }], containers: [] },
});

test('the time a pod may stay is counted once, and again after the taint was gone', async () => {
  const client = new FakeApi();
  const informers = new StaticInformers();
  for (const name of ['first', 'second']) {
    informers.of(NODES).set(node(name));
    informers.of(PODS).set(pod(name, name));
    client.put(PODS, pod(name, name));
  }
  const stop = new AbortController();
  const clock = { now: 0 };
  const running = taintEvictionController.run({
    client,
    informers,
    log: silentLog,
    signal: stop.signal,
    record: () => {},
    now: () => clock.now,
  });
  const left = async () =>
    (await client.of(PODS).list()).items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name);
  try {
    for (const name of ['first', 'second']) informers.of(NODES).set(node(name, { taints }));
    // Time to see each change; seeing two as one could only make the test fail, not pass.
    await new Promise((resolve) => setTimeout(resolve, 50));
    informers.of(NODES).set(node('second'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    clock.now = 5000;
    informers.of(NODES).set(node('second', { taints }));
    await until(async () => expect(await left()).toEqual(['second']));
    clock.now = 6001;
    await until(async () => expect(await left()).toEqual([]));
  } finally {
    stop.abort();
    await running;
  }
});
