// Reads what `conntrack -L -o extended,id` prints: the independent view of the kernel's flows.
import type { Flow, FlowTuple } from '../../src/kernel/conntrack/port.js';

/** A flow as the tool tells it; a status only as far as the tool shows it. */
type ToolFlow = Omit<Flow, 'status' | 'timeout'> & {
  readonly unreplied: boolean;
  readonly assured: boolean;
};

const FIELDS: Record<string, keyof FlowTuple> = {
  src: 'source',
  dst: 'destination',
  sport: 'sourcePort',
  dport: 'destinationPort',
  srckey: 'sourcePort',
  dstkey: 'destinationPort',
  type: 'icmpType',
  code: 'icmpCode',
  'zone-orig': 'zone',
  'zone-reply': 'zone',
};

/** "ipv4 2 udp 17 599 src=.. dst=.. sport=.. dport=.. [UNREPLIED] src=.. .. mark=0 zone=7 use=1 id=123" */
function parseConntrackLine(line: string): ToolFlow {
  const words = line.trim().split(/\s+/);
  const tuples: Record<string, string | number>[] = [];
  const rest: Record<string, number> = {};
  for (const word of words) {
    const [name = '', value] = word.split('=');
    if (value === undefined) continue;
    if (name === 'src') tuples.push({});
    const tuple = tuples.at(-1) ?? {};
    const field = FIELDS[name];
    // ICMP has an id in both tuples; the last one on the line is the flow's.
    if (name === 'id' && tuple['icmpType'] !== undefined && tuple['icmpId'] === undefined)
      tuple['icmpId'] = Number(value);
    else if (field !== undefined) tuple[field] = name === 'src' || name === 'dst' ? value : Number(value);
    else rest[name] = Number(value);
  }
  const [original, reply] = tuples as unknown as [FlowTuple, FlowTuple];
  const state = /^[A-Z_0-9]{4,}$/.test(words[5] ?? '') ? words[5] : undefined;
  const protocol = words[2] === 'unknown' ? Number(words[3]) : (words[2] as Flow['protocol']);
  return {
    family: words[0] === 'ipv4' ? 'inet' : 'inet6',
    protocol,
    original,
    reply,
    ...(rest['zone'] === undefined ? {} : { zone: rest['zone'] }),
    mark: rest['mark'] ?? 0,
    ...(state === undefined ? {} : { [protocol === 'tcp' ? 'tcpState' : 'sctpState']: state }),
    id: rest['id'] ?? -1,
    unreplied: line.includes('[UNREPLIED]'),
    assured: line.includes('[ASSURED]'),
  };
}

export const parseConntrackList = (text: string): ToolFlow[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseConntrackLine);

/** The core's flow in the tool's terms. */
export function asTheToolShows({ status, timeout: _, ...flow }: Flow): ToolFlow {
  return { ...flow, unreplied: !status.includes('seen-reply'), assured: status.includes('assured') };
}
