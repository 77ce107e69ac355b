// The semantic cases as questions to a real machine: each case gets a service of its own, so that all are asked at once.
// Guarantees: a case means the same as for the tracers; every case is asked.
import type {
  PerFamily,
  ProxyMode,
  ProxyState,
  ServicePort,
  TrafficOptions,
} from '../../../proxy-modes/mode.js';
import type { Place } from './packet.js';
import { stateOf } from './port.js';
import { OPTIONS, SEMANTIC_CASES, type SemanticCase } from './semantics.js';
import { type Answer, ASKERS, type Asker, NODE_ADDRESSES, type Question, type TruthLab } from './truthLab.js';

/** Long where an answer must come, however busy the machine is; short where none may. */
const PATIENCE_MS = { answer: 60_000, silence: 1500 } as const;

interface TruthCase {
  readonly name: string;
  readonly port: ServicePort | undefined;
  readonly from: Asker;
  readonly question: Question;
  readonly expected: SemanticCase['expected'];
  /** The source that the endpoint must see; undefined: the node's. */
  readonly source: string | undefined;
}

/** Cases that need the same options, with the state of all their services. */
export interface TruthGroup {
  readonly traffic: PerFamily<TrafficOptions>;
  readonly cases: readonly TruthCase[];
  readonly state: ProxyState;
}

/** As the mode promises them, where it promises other things than the rest. */
export function truthGroups(mode: ProxyMode['name'], cases = SEMANTIC_CASES): TruthGroup[] {
  const groups = new Map<PerFamily<TrafficOptions>, TruthCase[]>();
  const last = { ip: 1, ip6: 1 };
  for (const semantic of cases) {
    const { options = OPTIONS.usual, packet } = semantic;
    last[packet.family] += 1;
    const list = groups.get(options) ?? [];
    list.push(truthCase(semantic, last[packet.family], mode));
    groups.set(options, list);
  }
  return [...groups].map(([traffic, list]) => ({
    traffic,
    cases: list,
    state: stateOf(...list.flatMap(({ port }) => port ?? [])),
  }));
}

/** The case with service number n and its addresses in place of number 1 and its. */
function truthCase(semantic: SemanticCase, n: number, mode: ProxyMode['name']): TruthCase {
  const { name, port, packet, masqueraded } = semantic;
  if (n > 254) throw new Error('more cases of a family than addresses in 192.0.2.0/24');
  const { protocol, destination, destinationPort, source } = packet;
  const other = mode === 'ipvs' || mode === 'userspace' ? semantic.otherwise?.[mode] : undefined;
  const expected = other ?? semantic.expected;
  const moved = (ip: string) => (SERVICE_IPS.test(ip) ? ip.replace(/([.:])1$/, `$1${n}`) : ip);
  const nodePort = port?.nodePort === undefined ? undefined : 30_000 + n;
  const from = askerOf(packet.device, source);
  return {
    name,
    port: port && {
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
      destination: moved(destination),
      port: destinationPort === port?.nodePort ? (nodePort ?? destinationPort) : destinationPort,
      patienceMs: Array.isArray(expected) || expected === 'reject' ? PATIENCE_MS.answer : PATIENCE_MS.silence,
    },
    expected,
    source: masqueraded === true || from === 'node' || mode === 'userspace' ? undefined : source,
  };
}

/** Cluster IPs, external IPs and those of load balancers. */
const SERVICE_IPS = /^(10\.96\.|192\.0\.2\.|198\.51\.100\.|fd00:96:|2001:db8:[12]:)/;

function askerOf(device: string | undefined, source: string): Asker {
  if (source === '10.244.0.1' || source === 'fd00:244::1') return 'here';
  const place: Place = device === undefined ? 'node' : device === 'eth0' ? 'outside' : 'pod';
  return place;
}

/** Why the answer is not what was promised; undefined when it is. */
function broken({ expected, source }: TruthCase, answer: Answer): string | undefined {
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

/** Asks every question of a group that is in the kernel; answers what is not as promised. */
export async function askGroup(lab: TruthLab, { cases }: TruthGroup): Promise<string[]> {
  const failures = await Promise.all(
    ASKERS.map(async (from) => {
      const asked = cases.filter((one) => one.from === from);
      const answers = await lab.ask(
        from,
        asked.map(({ question }) => question),
      );
      return asked.flatMap((one, index) => {
        const why = broken(one, answers[index] ?? 'silence');
        return why === undefined ? [] : [`${one.name}: ${why}`];
      });
    }),
  );
  return failures.flat();
}

/** The whole matrix, group by group, each in a mode of its own that is cleaned up afterwards. */
export async function brokenPromises(
  lab: TruthLab,
  groups: readonly TruthGroup[],
  open: (traffic: PerFamily<TrafficOptions>) => Promise<Pick<ProxyMode, 'sync' | 'cleanUp' | 'close'>>,
): Promise<string[]> {
  const failures: string[] = [];
  for (const group of groups) {
    const mode = await open(group.traffic);
    await mode.sync(group.state);
    failures.push(...(await askGroup(lab, group)));
    await mode.cleanUp();
    mode.close();
  }
  return failures;
}
