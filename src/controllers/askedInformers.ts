// The shared informers as one controller sees them: it waits for the kinds it asked for, not for everybody's.
// Guarantees: a kind that never syncs holds up only the controllers that need it.
import type { KubeObject } from '../api/object.js';
import type { Informer, Informers } from '../client/informer.js';

export function askedInformers(shared: Informers): Informers {
  const asked = new Set<{ synced(): Promise<void> }>();
  return {
    of: <T extends KubeObject>(...request: Parameters<Informers['of']>): Informer<T> => {
      const informer = shared.of(...request) as unknown as Informer<T>;
      asked.add(informer);
      return informer;
    },
    async synced() {
      await Promise.all([...asked].map((informer) => informer.synced()));
    },
    stop: () => shared.stop(),
  };
}
