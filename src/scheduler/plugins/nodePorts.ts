// Two pods cannot have one port of a node. Pure.
import { type Plugin, simpleFilter } from '../plugin.js';

export const nodePorts: Plugin = {
  name: 'NodePorts',
  looksAtPods: true,
  wokenBy: ['node added', 'pod removed'],
  filter({ hostPorts }, { table }) {
    if (hostPorts.length === 0) return undefined;
    return simpleFilter(
      (slot) => hostPorts.some((port) => table.hasPort(slot, port)),
      "node(s) didn't have free ports for the requested pod ports",
      { final: false },
    );
  },
  helps: ({ pod: gone }, pod) =>
    gone === undefined || pod.hostPorts.some(({ key }) => gone.hostPorts.some((held) => held.key === key)),
};
