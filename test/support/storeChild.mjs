// A process of its own that opens a store: to be refused, or to write in a storm until it is killed.
// Prints `ack <key> <revision>` only after the store has answered.
import { openLmdbStore } from '../../dist/src/store/lmdb/store.js';

const [mode, path, round = '0'] = process.argv.slice(2);

try {
  const store = await openLmdbStore({ path, historyEvents: 500 });
  if (mode === 'storm') await Promise.all(Array.from({ length: 16 }, (_, writer) => storm(store, writer)));
  else await store.close();
} catch (error) {
  console.log(error.code, error.message);
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
