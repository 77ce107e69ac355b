// Repeatable requests, through benny, against the npm package netlink in the same namespace.
import { createRtNetlink } from 'netlink';
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { Figure } from '../lib/figure.js';
import { steady } from '../lib/steady.js';

export async function requests(): Promise<Figure[]> {
  const route = await openRoute();
  const peer = createRtNetlink();
  const figures = [
    await steady({
      name: 'get one link by name',
      ours: () => route.link('lo'),
      // The package finds a link by its index only, or by listing all.
      peer: { name: 'npm netlink', run: () => peer.getLink({ index: 1 }) },
      atMost: 1.5,
    }),
  ];
  route.close();
  return figures;
}
