// etcd is killed and comes back under a running apiserver with clients.
// Guarantees: in between the server says so and serves what needs no store; afterwards nobody has missed anything.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linesOf } from '../../../src/client/answer.js';
import {
  type ApiServerCommand,
  type Asked,
  ask as askServer,
  startApiServerCommand,
} from '../../support/apiServerCommand.js';
import { startEtcd, type TestEtcd } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PATIENCE = { timeout: 60_000, interval: 100 };

describeWith({ tools: ['etcd'] }, 'an apiserver whose etcd is killed', () => {
  let etcd: TestEtcd;
  let api: ApiServerCommand;
  beforeAll(async () => {
    etcd = await startEtcd();
    api = await startApiServerCommand({ args: ['--etcd-servers', etcd.endpoint] });
  });
  afterAll(async () => {
    await api?.close();
    await etcd?.stop();
  });

  const ask = (...asked: Asked) => askServer(api, ...asked);

  const made: string[] = [];
  async function create(): Promise<boolean> {
    const name = `o${made.length}`;
    const { code } = await ask('POST', MAPS, { metadata: { name }, data: { name } });
    // One that is there already was made by a call whose answer was lost with etcd.
    const isThere = code === 201 || code === 409;
    if (isThere) made.push(name);
    return isThere;
  }

  /** What every client with a cache does: list, watch from there, and list again when told that it is too late. */
  class Follower {
    readonly held = new Set<string>();
    readonly faults: string[] = [];
    readonly #stop = new AbortController();
    readonly done = this.#run();

    stop(): Promise<void> {
      this.#stop.abort();
      return this.done;
    }

    async #run(): Promise<void> {
      let at: number | undefined;
      while (!this.#stop.signal.aborted) {
        try {
          at ??= await this.#list();
          at = await this.#watch(at);
        } catch {
          await sleep(100); // the server is away, or has nothing to say: asked again
        }
      }
    }

    async #list(): Promise<number> {
      const { code, text } = await ask('GET', MAPS);
      if (code !== 200) throw new Error(text);
      const { items, metadata } = JSON.parse(text);
      this.held.clear();
      for (const item of items) this.held.add(item.metadata.name);
      return Number(metadata.resourceVersion);
    }

    /** The revision to go on from; undefined when it is too old. */
    async #watch(from: number): Promise<number | undefined> {
      let at = from;
      const { signal } = this.#stop;
      const path = `${MAPS}?watch=true&resourceVersion=${from}`;
      const response = await api.transport.request({ method: 'GET', path, signal });
      if (response.status !== 200) return response.status === 410 ? undefined : from;
      for await (const line of linesOf(response.body)) {
        const { type, object } = JSON.parse(Buffer.from(line).toString());
        if (type === 'ERROR') return undefined;
        const { name, resourceVersion } = object.metadata;
        if (Number(resourceVersion) <= at) this.faults.push(`${type} ${name} ${resourceVersion} after ${at}`);
        if (type === 'ADDED' && this.held.has(name)) this.faults.push(`${name} was added twice`);
        at = Number(resourceVersion);
        if (type === 'DELETED') this.held.delete(name);
        else this.held.add(name);
      }
      return at;
    }
  }

  test('says so, and goes on when it is back', { timeout: 240_000 }, async () => {
    const followers = Array.from({ length: 20 }, () => new Follower());
    try {
      for (let at = 0; at < 20; at += 1) expect(await create()).toBe(true);
      for (let round = 0; round < 2; round += 1) {
        await etcd.kill();
        const refused = await ask('POST', MAPS, { metadata: { name: 'lost' } });
        expect(refused.code, refused.text).toBe(503);
        expect(JSON.parse(refused.text)).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
        expect(refused.headers['retry-after']).toBeDefined();
        expect((await ask('GET', '/livez')).code).toBe(200);
        expect((await ask('GET', `${MAPS}?resourceVersion=0`)).code).toBe(200);
        await etcd.start();
        await expect.poll(create, PATIENCE).toBe(true);
        for (let at = 0; at < 20; at += 1) expect(await create()).toBe(true);
      }
      const names = [...made].sort();
      const isCurrent = async () => {
        const { items } = JSON.parse((await ask('GET', MAPS)).text);
        return items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort();
      };
      expect(await isCurrent()).toEqual(names);
      for (const { held } of followers) {
        await expect.poll(() => [...held].sort(), PATIENCE).toEqual(names);
      }
      expect(followers.flatMap(({ faults }) => faults)).toEqual([]);
    } finally {
      await Promise.all(followers.map((follower) => follower.stop()));
    }
    expect(api.isAlive()).toBe(true);
  });
});
