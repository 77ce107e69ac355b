// The chains of this mode and the jumps to them. Pure.
import type { Ownership } from '../../iptables/tables.js';
import * as names from '../names.js';

const portals = 'handle ClusterIPs; NOTE: this must be before the NodePort rules';
const nodePorts = 'handle service NodePorts; NOTE: this must be the last rule in the chain';
const jump = (chain: string, to: string, comment: string, match = '') =>
  `${chain} ${match}-m comment --comment "${comment}" -j ${to}`;
const LOCAL = '-m addrtype --dst-type LOCAL ';

export const OWNED: Ownership = {
  chains: {
    filter: [],
    nat: [names.PORTALS_CONTAINER, names.PORTALS_HOST, names.NODEPORT_CONTAINER, names.NODEPORT_HOST],
    mangle: [],
  },
  jumps: {
    filter: [],
    nat: [
      jump('PREROUTING', names.PORTALS_CONTAINER, portals),
      jump('OUTPUT', names.PORTALS_HOST, portals),
      jump('PREROUTING', names.NODEPORT_CONTAINER, nodePorts, LOCAL),
      jump('OUTPUT', names.NODEPORT_HOST, nodePorts, LOCAL),
    ],
    mangle: [],
  },
  isServiceChain: () => false,
};
