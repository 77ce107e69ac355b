// The real rtnetlink behind RoutePort.
// Guarantees: closing it ends its watches too; no work of it runs on the event loop but the parsing of results.
import { addon, type NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { Watches } from '../watch.js';
import type { RoutePort } from './port.js';

export async function openRoute(netns?: NetNs): Promise<RoutePort> {
  const channel = await Channel.open('route', netns);
  const watches = new Watches();
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
    watch: (kinds, onEvents) =>
      watches.start((onBytes) => addon().watchRoutes(netns, kinds, onBytes), onEvents),
    close() {
      watches.close();
      channel.close();
    },
  };
}
