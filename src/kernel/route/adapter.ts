// The real rtnetlink behind RoutePort.
// Guarantees: closing it ends its watches too; no work of it runs on the event loop but the parsing of results.
import { addon, type NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { Watches } from '../watch.js';
import type { RoutePort } from './port.js';

export async function openRoute(netns?: NetNs): Promise<RoutePort> {
  const channel = await Channel.open('route', netns);
  const watches = new Watches();
  return {
    apply: (requests) => channel.apply(requests),
    link: async (name) => (await channel.list('link')({ name }))[0] as Awaited<ReturnType<RoutePort['link']>>,
    links: channel.list('link'),
    addresses: channel.list('address'),
    routes: channel.list('route'),
    rules: channel.list('rule'),
    neighbours: channel.list('neighbour'),
    qdiscs: channel.list('qdisc'),
    classes: channel.list('class'),
    watch: (kinds, onEvents) =>
      watches.start((onBytes) => addon().watchRoutes(netns, kinds, onBytes), onEvents),
    close() {
      watches.close();
      channel.close();
    },
  };
}
