// The real rtnetlink behind RoutePort.
// Guarantees: closing it ends its watches too; no work of it runs on the event loop but the parsing of results.
import { addon, type NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { KernelError } from '../error.js';
import type { RouteEvent, RoutePort, Watch, WatchKind } from './port.js';

export async function openRoute(netns?: NetNs): Promise<RoutePort> {
  const channel = await Channel.open('route', netns);
  const watches = new Set<Watch>();
  const list =
    (kind: string) =>
    <T>(filter: object = {}): Promise<T[]> =>
      channel.query<T>({ kind, ...filter });

  return {
    apply: (requests) => channel.apply(requests),
    link: async (name) => (await list('link')({ name }))[0] as Awaited<ReturnType<RoutePort['link']>>,
    links: list('link'),
    addresses: list('address'),
    routes: list('route'),
    rules: list('rule'),
    neighbours: list('neighbour'),
    qdiscs: list('qdisc'),
    classes: list('class'),
    watch(kinds, onEvents) {
      const watch = startWatch(netns, kinds, onEvents, () => watches.delete(watch));
      watches.add(watch);
      return watch;
    },
    close() {
      for (const watch of [...watches]) watch.close();
      channel.close();
    },
  };
}

function startWatch(
  netns: NetNs,
  kinds: readonly WatchKind[],
  onEvents: (events: readonly RouteEvent[]) => void,
  onClosed: () => void,
): Watch {
  let open = true;
  try {
    const monitor = addon().watchRoutes(netns, kinds, (bytes) => {
      if (open) onEvents(JSON.parse(bytes.toString()) as RouteEvent[]);
    });
    return {
      close() {
        if (!open) return;
        open = false;
        monitor.close();
        onClosed();
      },
    };
  } catch (error) {
    throw KernelError.from(error);
  }
}
