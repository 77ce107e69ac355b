// What makes a flow or a filter well formed; the same rules as the native core's.
// Guarantees: the first thing wrong is an error of code INVALID with the index and the field.
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { KernelError } from '../error.js';
import type { Flow, FlowFamily, FlowFilter, FlowProtocol, FlowTuple, NewFlow } from './port.js';

const NUMBERS: Record<string, number> = {
  tcp: 6,
  udp: 17,
  icmp: 1,
  icmpv6: 58,
  sctp: 132,
  dccp: 33,
  udplite: 136,
  gre: 47,
};
const WITH_PORTS = new Set([6, 17, 132, 33, 136, 47]);
const ICMP = 1;
const ICMPV6 = 58;
const ICMP_PAIRS: Record<number, readonly (readonly [number, number])[]> = {
  [ICMP]: [
    [8, 0],
    [13, 14],
    [15, 16],
    [17, 18],
  ],
  [ICMPV6]: [
    [128, 129],
    [139, 140],
  ],
};

export const protocolNumber = (protocol: FlowProtocol): number =>
  typeof protocol === 'number' ? protocol : (NUMBERS[protocol] ?? -1);

/** The protocol by name where it has one, as the kernel's flows are listed. */
const protocolName = (protocol: FlowProtocol): FlowProtocol => {
  const number = protocolNumber(protocol);
  return (
    (Object.keys(NUMBERS).find((name) => NUMBERS[name] === number) as FlowProtocol | undefined) ?? number
  );
};

export const familyOf = (address: string): FlowFamily | undefined =>
  isIPv4(address) ? 'inet' : isIPv6(address) ? 'inet6' : undefined;

/** The address as the kernel writes it. */
const canonical = (address: string): string =>
  new SocketAddress({ address, family: isIPv4(address) ? 'ipv4' : 'ipv6' }).address;

function inverse(tuple: FlowTuple, protocol: number): FlowTuple {
  const { source, destination, sourcePort, destinationPort, icmpType, zone: _, ...rest } = tuple;
  return {
    ...rest,
    source: destination,
    destination: source,
    ...(destinationPort === undefined ? {} : { sourcePort: destinationPort }),
    ...(sourcePort === undefined ? {} : { destinationPort: sourcePort }),
    ...(icmpType === undefined ? {} : { icmpType: inverseIcmpType(protocol, icmpType) }),
  };
}

function inverseIcmpType(protocol: number, type: number): number {
  const pair = ICMP_PAIRS[protocol]?.find((types) => types.includes(type));
  return pair === undefined ? type : pair[0] === type ? pair[1] : pair[0];
}

type Refuse = (field: string, expected: string) => never;

const refuser =
  (index: number, what: string): Refuse =>
  (field, expected) => {
    const message = `${what}: field '${field}' ${expected}`;
    throw new KernelError([{ code: 'INVALID', message, operation: '', kernel: '', errno: 0, index }]);
  };

const isWhole = (value: number, max: number) => Number.isInteger(value) && value >= 0 && value <= max;

function checkTuple(
  direction: string,
  tuple: FlowTuple,
  family: FlowFamily,
  protocol: number,
  refuse: Refuse,
) {
  for (const field of ['source', 'destination'] as const)
    if (familyOf(tuple[field]) !== family)
      refuse(`${direction}.${field}`, "must be an address of the flow's family");
  const wanted = (fields: readonly (keyof FlowTuple)[], isWanted: boolean, max: number) => {
    for (const field of fields) {
      const value = tuple[field];
      if ((value !== undefined) !== isWanted)
        refuse(`${direction}.${field}`, isWanted ? 'is missing' : 'makes no sense for this protocol');
      if (typeof value === 'number' && !isWhole(value, max))
        refuse(field, `must be a whole number from 0 to ${max}`);
    }
  };
  wanted(['sourcePort', 'destinationPort'], WITH_PORTS.has(protocol), 65535);
  const isIcmp = protocol === ICMP || protocol === ICMPV6;
  wanted(['icmpType', 'icmpCode'], isIcmp, 255);
  wanted(['icmpId'], isIcmp, 65535);
}

/** The flow as the kernel would keep it, but for its id. */
export function completeFlow(flow: NewFlow, index: number): Omit<Flow, 'id'> {
  const refuse = refuser(index, 'add flow');
  const protocol = protocolNumber(flow.protocol);
  if (!isWhole(protocol, 255)) refuse('protocol', `must be one of ${Object.keys(NUMBERS).join(', ')}`);
  const family = flow.family ?? familyOf(flow.original.source);
  if (family === undefined) return refuse('source', 'must be an IP address, like "10.0.0.1" or "fd00::1"');
  if (protocol === ICMP && family !== 'inet') refuse('protocol', "icmp is IPv4's; IPv6 has icmpv6");
  if (protocol === ICMPV6 && family !== 'inet6') refuse('protocol', "icmpv6 is IPv6's; IPv4 has icmp");
  if (flow.tcpState !== undefined && protocol !== NUMBERS['tcp'])
    refuse('tcpState', 'makes no sense for this protocol');
  if (flow.sctpState !== undefined && protocol !== NUMBERS['sctp'])
    refuse('sctpState', 'makes no sense for this protocol');
  checkTuple('original', flow.original, family, protocol, refuse);
  const reply = flow.reply ?? inverse(flow.original, protocol);
  checkTuple('reply', reply, family, protocol, refuse);
  const written = (tuple: FlowTuple): FlowTuple => ({
    ...tuple,
    source: canonical(tuple.source),
    destination: canonical(tuple.destination),
  });
  const { zone, ...rest } = flow;
  return {
    ...rest,
    family,
    protocol: protocolName(protocol),
    original: written(flow.original),
    reply: written(reply),
    ...(zone === undefined || zone === 0 ? {} : { zone }),
    mark: flow.mark ?? 0,
    status: [...new Set([...(flow.status ?? []), 'confirmed' as const])],
  };
}

/** The family that the filter's addresses tell, or its own. */
export function checkFilter(filter: FlowFilter, index: number): FlowFamily | undefined {
  const refuse = refuser(index, `filter ${index}`);
  let family = filter.family;
  for (const field of ['originalSource', 'originalDestination', 'replySource', 'replyDestination'] as const) {
    const prefix = filter[field];
    if (prefix === undefined) continue;
    const [address = '', length] = prefix.split('/');
    const of = familyOf(address);
    if (of === undefined || (length !== undefined && !isWhole(Number(length), of === 'inet' ? 32 : 128)))
      return refuse(field, 'must be an address with a prefix length, like "10.0.0.0/24" or "fd00::/64"');
    if (family !== undefined && family !== of) refuse(field, 'must be of the family of the rest');
    family = of;
  }
  const ports = [
    'originalSourcePort',
    'originalDestinationPort',
    'replySourcePort',
    'replyDestinationPort',
  ] as const;
  for (const field of [...ports, 'zone'] as const)
    if (filter[field] !== undefined && !isWhole(filter[field], 65535))
      refuse(field, 'must be a whole number from 0 to 65535');
  if (filter.markMask !== undefined && filter.mark === undefined) refuse('markMask', 'needs a mark');
  const hasPorts = ports.some((field) => filter[field] !== undefined);
  if (hasPorts && filter.protocol !== undefined && !WITH_PORTS.has(protocolNumber(filter.protocol)))
    refuse('protocol', 'has no ports to filter by');
  const isEmpty =
    !hasPorts && [family, filter.protocol, filter.zone, filter.mark].every((value) => value === undefined);
  if (isEmpty) {
    const message = `filter ${index}: a filter must name at least one field`;
    throw new KernelError([{ code: 'INVALID', message, operation: '', kernel: '', errno: 0, index }]);
  }
  return family;
}
