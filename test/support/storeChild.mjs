// A process of its own that opens a store: to be refused, to read or write in a storm until it is killed, to fill its disk.
// Prints `ack <key> <revision>` only after the store has answered.
import { rmSync, writeFileSync } from 'node:fs';
import { openLmdbStore } from '../../dist/src/store/lmdb/store.js';
import { lmdbSource } from '../../dist/src/store/snapshot/source.js';

const [mode, path, round = '0'] = process.argv.slice(2);

if (mode === 'read') {
  const source = lmdbSource(path);
  console.log('reading', source.keys);
  setInterval(() => source.keys, 60_000);
  await new Promise(() => {});
}

try {
  const store = await openLmdbStore({ path, historyEvents: 500 });
  if (mode === 'storm') await Promise.all(Array.from({ length: 16 }, (_, writer) => storm(store, writer)));
  else if (mode === 'fill') console.log(JSON.stringify(await fill(store)));
  if (mode !== 'storm') await store.close();
} catch (error) {
  console.log(error.code, error.message);
}

/** Writes until the small disk refuses, makes room, and writes again. */
async function fill(store) {
  const ballast = `${path}/ballast`;
  writeFileSync(ballast, Buffer.alloc(2_000_000));
  const made = [];
  const create = () => {
    const keys = Array.from({ length: 20 }, (_, i) => `/fill/${made.length}/${i}`);
    return Promise.allSettled(keys.map((key) => store.create(key, Buffer.alloc(5000))));
  };
  let refused = [];
  while (refused.length === 0) {
    const outcomes = await create();
    made.push(...outcomes.filter(({ status }) => status === 'fulfilled').map(({ value }) => value));
    refused = outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.code);
  }
  // The last pages go too, so that not even a small write finds room.
  for (let isFull = false; !isFull; ) {
    await store.create(`/fill/last/${made.length}`, Buffer.of(1)).then(
      (revision) => made.push(revision),
      () => (isFull = true),
    );
  }
  const { remaining, entries, revision } = await store.list({ prefix: '/fill/' });
  const deleted = await Promise.allSettled(
    entries.slice(0, 5).map((one) => store.delete(one.key, one.revision)),
  );
  const full = await store.create('/full', Buffer.alloc(5000)).catch(({ code }) => code);
  rmSync(ballast);
  return {
    made,
    refused,
    kept: entries.length + remaining,
    revision,
    deleted: deleted.filter(({ status }) => status === 'fulfilled').length,
    full,
    next: await store.create('/next', Buffer.of(1)),
  };
}

async function storm(store, writer) {
  const value = (text) => Buffer.from(`${text} `.repeat(200));
  for (let i = 0; ; i++) {
    const key = `/storm/${round}/${writer}/${i}`;
    let revision = await store.create(key, value('first'));
    process.stdout.write(`ack ${key} ${revision} first\n`);
    if (i % 3 === 0) {
      revision = await store.update(key, value('second'), revision);
      process.stdout.write(`ack ${key} ${revision} second\n`);
    }
    if (i % 5 === 0) {
      revision = await store.delete(key, revision);
      process.stdout.write(`ack ${key} ${revision} gone\n`);
    }
  }
}
