// The store's contract on LMDB.
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import { storeContract } from '../../../support/contracts/store.js';
import { storeFolder } from '../../../support/storeFolder.js';

storeContract('LMDB', async () => {
  const { folder, remove } = await storeFolder();
  const store = await openLmdbStore({ path: folder });
  return {
    store,
    close: async () => {
      await store.close();
      await remove();
    },
  };
});
