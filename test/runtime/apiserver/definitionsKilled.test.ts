// kill -9 of a server with many definitions, while clients write their objects and the definitions change: what was
// acknowledged is there after the restart, and every object can be read in every version.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiServerCommand, startApiServerCommand } from '../../support/apiServerCommand.js';
import { type Answer, DEFINITIONS, definition, GROUP, specOf } from '../../support/customResources.js';
import { until } from '../../support/until.js';

/** More of them: TRELLIS_DEFINITIONS=1000 npx vitest run --project runtime test/runtime/apiserver/definitionsKilled.test.ts */
const COUNT = Number(process.env['TRELLIS_DEFINITIONS'] ?? 40);
const IS_LONG = COUNT >= 1000;
const ROUNDS = IS_LONG ? 5 : 2;
const CLIENTS = IS_LONG ? 200 : 40;
const CHANGERS = 4;
/** So many writes of objects are acknowledged before the server is killed. */
const ENOUGH = IS_LONG ? 4000 : 400;
const FIRST_WAIT_MS = IS_LONG ? 600_000 : 60_000;
const MERGE = { 'content-type': 'application/merge-patch+json' };

const schema = specOf({ size: { type: 'integer' }, color: { type: 'string', default: 'blue' } });
const names = Array.from({ length: COUNT }, (_, i) => `things${i}`);
const nameOf = (plural: string) => `${plural}.${GROUP}`;
const folderOf = (plural: string, version = 'v1') => `/apis/${GROUP}/${version}/namespaces/default/${plural}`;

/** With that version stored. */
const made = (plural: string, stored: 'v1' | 'v2', color = 'blue') =>
  definition({
    plural,
    kind: `Thing${plural.slice('things'.length)}`,
    versions: ['v1', 'v2'].map((name) => ({
      name,
      storage: name === stored,
      schema: {
        openAPIV3Schema: {
          ...schema,
          properties: {
            spec: specOf({ size: { type: 'integer' }, color: { type: 'string', default: color } })
              .properties?.['spec'],
          },
        } as never,
      },
    })),
  });

async function send(api: ApiServerCommand, method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) {
  const headers = method === 'PATCH' ? MERGE : { 'content-type': 'application/json' };
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await api.transport.request({ method, path: url, headers, ...text });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(Buffer.from(part));
  return { status: answer.status, body: JSON.parse(Buffer.concat(parts).toString()) as Answer['body'] };
}

/** What was acknowledged: the size of each object by its path, and of each definition the stored version. */
interface Known {
  readonly sizes: Map<string, number>;
  readonly stored: Map<string, string>;
}

/** Writes until enough is acknowledged, then kills; what was under way fails as it may. */
async function storm(api: ApiServerCommand, known: Known, round: number): Promise<void> {
  let acknowledged = 0;
  const goesOn = () => api.isAlive() && acknowledged < ENOUGH;
  const write = async (client: number) => {
    for (let i = 0; goesOn(); i += 1) {
      const plural = names[(client * 7919 + i * 104_729) % COUNT] ?? '';
      const version = i % 2 === 0 ? 'v1' : 'v2';
      const kind = `Thing${plural.slice('things'.length)}`;
      const name = `r${round}-c${client}-${i}`;
      const object = { apiVersion: `${GROUP}/${version}`, kind, metadata: { name }, spec: { size: i } };
      const { status } = await send(api, 'POST', folderOf(plural, version), object);
      if (status !== 201) continue;
      known.sizes.set(`${plural}/${name}`, i);
      acknowledged += 1;
    }
  };
  const change = async (changer: number) => {
    for (let i = changer; goesOn(); i += CHANGERS) {
      const plural = names[(i * 31) % COUNT] ?? '';
      const stored = (i + round) % 2 === 0 ? 'v1' : 'v2';
      const { spec } = made(plural, stored, `color${i}`);
      const { status } = await send(api, 'PATCH', `${DEFINITIONS}/${nameOf(plural)}`, { spec });
      if (status === 200) known.stored.set(plural, stored);
    }
  };
  const work = [
    ...Array.from({ length: CLIENTS }, (_, client) => write(client)),
    ...Array.from({ length: CHANGERS }, (_, changer) => change(changer)),
  ];
  await Promise.race(work);
  process.kill(api.pid, 'SIGKILL');
  const ends = await Promise.allSettled(work);
  expect(ends.some(({ status }) => status === 'rejected')).toBe(true);
  expect(acknowledged).toBeGreaterThanOrEqual(ENOUGH);
}

async function checkAll(api: ApiServerCommand, known: Known): Promise<void> {
  for (const plural of names) {
    const { status, body } = await send(api, 'GET', `${DEFINITIONS}/${nameOf(plural)}`);
    expect(status).toBe(200);
    const storage = body.spec.versions.find((version: { storage: boolean }) => version.storage).name;
    expect(body.status.storedVersions).toContain(storage);
    await until(async () => {
      for (const version of ['v1', 'v2']) await checkObjects(api, known, plural, version);
    });
  }
}

async function checkObjects(api: ApiServerCommand, known: Known, plural: string, version: string) {
  const { status, body } = await send(api, 'GET', folderOf(plural, version));
  expect(status).toBe(200);
  const sizes = new Map<string, unknown>();
  for (const { apiVersion, metadata, spec } of body.items) {
    expect(apiVersion).toBe(`${GROUP}/${version}`);
    expect(typeof spec.color).toBe('string');
    sizes.set(`${plural}/${metadata.name}`, spec.size);
  }
  for (const [key, size] of known.sizes) if (key.startsWith(`${plural}/`)) expect(sizes.get(key)).toBe(size);
  const [last] = body.items;
  if (last === undefined) return;
  const one = await send(api, 'GET', `${folderOf(plural, version)}/${last.metadata.name}`);
  expect(one.body.spec).toEqual(last.spec);
}

let dataDir: string;
let api: ApiServerCommand | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(path.join(os.tmpdir(), 'trellis-definitions-'));
});
afterEach(async () => {
  await api?.close();
  await rm(dataDir, { recursive: true, force: true });
});

test(
  'nothing that was acknowledged is lost, and no object is unreadable',
  async () => {
    const known: Known = { sizes: new Map(), stored: new Map() };
    api = await startApiServerCommand({ dataDir });
    await send(api, 'POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
    const first = api;
    const answers = await Promise.all(
      names.map((plural) => send(first, 'POST', DEFINITIONS, made(plural, 'v1'))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    await until(async () => {
      const { status } = await send(first, 'GET', folderOf(names.at(-1) ?? ''));
      expect(status).toBe(200);
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      await storm(api, known, round);
      await api.close();
      api = await startApiServerCommand({ dataDir });
      await checkAll(api, known);
    }
    expect(known.stored.size).toBeGreaterThan(0);
  },
  ROUNDS * 120_000 + FIRST_WAIT_MS,
);
