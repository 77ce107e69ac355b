// Two pods cannot have one port of a node. Pure.
import { type FilterPlugin, fits, rejects } from '../plugin.js';

export const nodePorts: FilterPlugin = {
  name: 'NodePorts',
  wokenBy: ['pod removed'],
  filter: (pod, node) =>
    pod.hostPorts.some((port) => node.hasPort(port))
      ? rejects("node(s) didn't have free ports for the requested pod ports")
      : fits,
};
