// The semantic cases as questions to a real machine: each case gets a service of its own, so that all are asked at once.
// Guarantees: a case means the same as for the tracers; what cannot be asked (SCTP) is left out.
import type { ProxyState, ServicePort } from '../../../src/proxy/state.js';
import type { Place } from './packet.js';
import { stateOf } from './port.js';
import { optionsOf, SEMANTIC_CASES, type SemanticCase } from './semantics.js';
import type { Answer, Asker, Question } from './truthLab.js';
import { NODE_ADDRESSES } from './truthLab.js';

/** Long where an answer must come, however busy the machine is; short where none may. */
const PATIENCE_MS = { answer: 60_000, silence: 1500 } as const;

export interface TruthCase {
  readonly name: string;
  readonly port: ServicePort;
  readonly from: Asker;
  readonly question: Question;
  readonly expected: SemanticCase['expected'];
  /** The source that the endpoint must see; undefined: the node's. */
  readonly source: string | undefined;
}

/** Cases that need the same options, with the state of all their services. */
export interface TruthGroup {
  readonly options: ReturnType<typeof optionsOf>;
  readonly cases: readonly TruthCase[];
  readonly state: ProxyState;
}

export function truthGroups(): TruthGroup[] {
  const groups = new Map<string, { options: TruthGroup['options']; cases: TruthCase[] }>();
  for (const [index, semantic] of SEMANTIC_CASES.entries()) {
    const own = truthCase(semantic, index + 2);
    if (own === undefined) continue;
    const options = optionsOf(semantic);
    const key = JSON.stringify(options);
    const group = groups.get(key) ?? { options, cases: [] };
    group.cases.push(own);
    groups.set(key, group);
  }
  return [...groups.values()].map((group) => ({
    ...group,
    state: stateOf(...group.cases.map(({ port }) => port)),
  }));
}

/** The case with service number n and its addresses in place of number 1 and its. */
function truthCase(
  { name, port, packet, expected, masqueraded }: SemanticCase,
  n: number,
): TruthCase | undefined {
  const { protocol, destination, destinationPort, source } = packet;
  if (protocol === 'sctp') return undefined;
  const moved = (ip: string) => ip.replace(/([.:])1$/, `$1${n}`);
  const nodePort = port.nodePort === undefined ? undefined : 30_000 + n;
  const isService = [port.clusterIp, ...port.externalIps, ...port.loadBalancerIps].includes(destination);
  const from = askerOf(packet.device, source);
  return {
    name,
    port: {
      ...port,
      key: port.key.replace('s1:', `s${n}:`),
      name: port.name.replace('s1:', `s${n}:`),
      clusterIp: moved(port.clusterIp),
      externalIps: port.externalIps.map(moved),
      loadBalancerIps: port.loadBalancerIps.map(moved),
      ...(nodePort === undefined ? {} : { nodePort }),
    },
    from,
    question: {
      protocol,
      ...(from === 'node' ? {} : { source }),
      destination: isService ? moved(destination) : destination,
      port: destinationPort === port.nodePort ? (nodePort ?? destinationPort) : destinationPort,
      patienceMs: Array.isArray(expected) || expected === 'reject' ? PATIENCE_MS.answer : PATIENCE_MS.silence,
    },
    expected,
    source: masqueraded === true || from === 'node' ? undefined : source,
  };
}

function askerOf(device: string | undefined, source: string): Asker {
  if (source === '10.244.0.1') return 'here';
  const place: Place = device === undefined ? 'node' : device === 'eth0' ? 'outside' : 'pod';
  return place;
}

/** Why the answer is not what was promised; undefined when it is. */
export function broken({ expected, source }: TruthCase, answer: Answer): string | undefined {
  const said = JSON.stringify(answer);
  if (expected === 'reject') return answer === 'refused' ? undefined : `${said} instead of a refusal`;
  // Nobody listens on a port of the node that is no service's, so that the node itself refuses.
  if (expected === 'untouched') return typeof answer === 'string' ? undefined : `${said} instead of nobody`;
  if (expected === 'drop') return answer === 'silence' ? undefined : `${said} instead of silence`;
  if (typeof answer === 'string') return `${said} instead of an answer`;
  if (!expected.includes(`${answer.by} 8080`)) return `${said} by another than ${expected.join(', ')}`;
  const isRight = source === undefined ? NODE_ADDRESSES.has(answer.source) : answer.source === source;
  return isRight ? undefined : `${said} saw another source than ${source ?? 'the node’s'}`;
}
