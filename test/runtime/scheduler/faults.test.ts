// An apiserver that refuses, is busy, fails or does not answer: no pod bound twice, none forgotten, no node over-full.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NODES, PODS } from '../../../src/api/resources.js';
import { statusError } from '../../../src/api/status.js';
import type { Client, ResourceClient } from '../../../src/client/client.js';
import { cpu, Playground, until } from './support.js';

let ground: Playground;
beforeAll(async () => {
  ground = await Playground.open();
});
afterAll(() => ground.close());
afterEach(() => ground.clear());

type Bind = () => Promise<unknown>;

/** The client, with something between a binding and the server. */
function between(deal: (bind: Bind, node: string) => Promise<unknown>): (client: Client) => Client {
  return (client) => ({
    ...client,
    of: (type) => {
      const real = client.of(type);
      if (type.resource !== PODS.resource) return real;
      const post: ResourceClient<never>['post'] = async (name, subresource, body) => {
        const { target } = body as unknown as { target: { name: string } };
        return (await deal(() => real.post(name, subresource, body), target.name)) as never;
      };
      return { ...real, post };
    },
  });
}

/** Every third binding goes wrong in one way. */
function faulty(fail: (bind: Bind) => Promise<unknown>): (client: Client) => Client {
  let count = 0;
  return between((bind) => {
    count += 1;
    return count % 3 === 0 ? fail(bind) : bind();
  });
}

describe('bindings that', () => {
  test.each([
    ['are refused as a conflict', async () => Promise.reject(statusError('Conflict', 'not now'))],
    ['meet a server that is busy', async () => Promise.reject(statusError('TooManyRequests', 'slow down'))],
    ['meet a server that fails', async () => Promise.reject(statusError('InternalError', 'oh'))],
    ['are never answered', () => new Promise<never>(() => {})],
    [
      'are done but never answered',
      async (bind: Bind) => {
        await bind();
        return new Promise<never>(() => {});
      },
    ],
    [
      'are done and then fail',
      async (bind: Bind) => {
        await bind();
        throw statusError('InternalError', 'after all');
      },
    ],
  ] as [string, (bind: Bind) => Promise<unknown>][])('%s', async (_, fail) => {
    const COUNT = 12;
    for (const name of ['a', 'b', 'c']) await ground.node(name, { allocatable: { cpu: '2' } });
    const options = { writeTimeoutMs: 200, podInitialBackoffMs: 20, podMaxBackoffMs: 50 };
    const stop = ground.schedule(options, faulty(fail));
    for (let number = 0; number < COUNT; number += 1) await ground.pod(`p${number}`, cpu('500m'));
    await until(async () => expect(Object.keys(await ground.placements())).toHaveLength(COUNT));
    const nodes = Object.values(await ground.placements());
    expect(['a', 'b', 'c'].map((name) => nodes.filter((one) => one === name).length)).toEqual([4, 4, 4]);
    await stop();
  });
});

describe('a node that vanishes between choice and binding', () => {
  /** Before its first binding is dealt with. */
  const vanishing = (deal: (bind: Bind, node: string) => Promise<unknown>) => {
    let gone: Promise<unknown> | undefined;
    return between(async (bind, node) => {
      gone ??= ground.api.client.of(NODES).delete({ name: 'a' });
      await gone;
      return deal(bind, node);
    });
  };

  test('and comes back is not filled twice', async () => {
    await ground.node('a', { allocatable: { cpu: '1' } });
    const stop = ground.schedule(
      {},
      vanishing((bind) => bind()),
    );
    await ground.pod('early', cpu('1'));
    await until(async () => expect(await ground.placements()).toEqual({ early: 'a' }));
    await ground.pod('late', cpu('1'));
    await until(async () => expect(await ground.failures('late')).not.toEqual([]));
    await ground.node('a', { allocatable: { cpu: '1' } });
    await until(async () => expect((await ground.failures('late')).join()).toContain('Insufficient cpu'));
    await ground.node('b', { allocatable: { cpu: '1' } });
    await until(async () => expect(await ground.placements()).toEqual({ early: 'a', late: 'b' }));
    await stop();
  });

  test('and refuses loses the pod to another', async () => {
    await ground.node('a', { allocatable: { cpu: '1' } });
    // As often as it is tried: whoever chooses may hear of the end later than the one who refuses.
    const refusing = vanishing((bind, node) =>
      node === 'a' ? Promise.reject(statusError('Conflict', 'no such node')) : bind(),
    );
    const stop = ground.schedule({ podInitialBackoffMs: 20, podMaxBackoffMs: 50 }, refusing);
    await ground.pod('p', cpu('1'));
    await until(async () => expect(await ground.failures('p')).not.toEqual([]));
    await ground.node('b', { allocatable: { cpu: '1' } });
    await until(async () => expect(await ground.placements()).toEqual({ p: 'b' }));
    await stop();
  });
});

test('two schedulers at once do not bind a pod twice', async () => {
  for (const name of ['a', 'b']) await ground.node(name);
  const stops = [ground.schedule(), ground.schedule()];
  const COUNT = 20;
  for (let number = 0; number < COUNT; number += 1) await ground.pod(`p${number}`);
  await until(async () => expect(Object.keys(await ground.placements())).toHaveLength(COUNT));
  for (const stop of stops) await stop();
});
