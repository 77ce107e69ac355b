// Which tracked connections a change of policies has forbidden. Pure.
// Guarantees: a connection that is still allowed is never named; one between an address of this node's pods and anybody
// that is forbidden always is.
import { contains, parseCidr } from '../../api/ip.js';
import type { Flow, FlowFilter } from '../../kernel/conntrack/port.js';
import { judge } from './judge.js';
import type { PolicyProtocol } from './model.js';
import type { PolicyPlanner } from './planner.js';

const LINK_LOCAL = 'fe80::/10';
const linkLocal = parseCidr(LINK_LOCAL);
const isOfLink = (ip: string) => linkLocal !== undefined && contains(linkLocal, ip);

const PROTOCOLS: readonly unknown[] = ['tcp', 'udp', 'sctp'];

export function forbiddenFlows(
  flows: readonly Flow[],
  planner: PolicyPlanner,
  isNodeAddress: (ip: string) => boolean,
): Flow[] {
  return flows.filter(({ protocol, original, reply }) => {
    // The node reaches its pods whatever their policies say.
    if (isNodeAddress(original.source) || isNodeAddress(reply.source)) return false;
    const { isAllowed } = judge(planner, {
      source: original.source,
      destination: reply.source,
      ...(PROTOCOLS.includes(protocol)
        ? { protocol: protocol as PolicyProtocol, port: reply.sourcePort }
        : {}),
    });
    const isClosed = planner.areLinksClosed && (isOfLink(original.source) || isOfLink(reply.source));
    return !isAllowed || isClosed;
  });
}

/** Just this flow. */
export const filterOf = ({ family, protocol, original }: Flow): FlowFilter => ({
  family,
  protocol,
  originalSource: original.source,
  originalDestination: original.destination,
  ...(original.sourcePort === undefined ? {} : { originalSourcePort: original.sourcePort }),
  ...(original.destinationPort === undefined ? {} : { originalDestinationPort: original.destinationPort }),
});

/** The flows to look at: those from or to addresses of these networks, and between neighbours on a link. */
export const flowsOf = (ranges: readonly string[]): FlowFilter[] =>
  [...ranges, LINK_LOCAL].flatMap((range) => [{ originalSource: range }, { replySource: range }]);
