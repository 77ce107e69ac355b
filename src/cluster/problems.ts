// What is wrong with a cluster, and what to do about it, from what its status tells. Pure.
// Guarantees: each thing that is wrong is said once, with its cause before what follows from it.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import type { ClusterStatus } from './status.js';

export interface Problem {
  readonly what: string;
  /** What to do about it. */
  readonly fix: string;
}

/** The command as it is typed for this cluster: `logs agent` becomes `trellis logs --data-dir D agent`. */
export type CommandText = (command: string, ...words: string[]) => string;

const SUPERVISOR = 'supervisor';
/** More of them say nothing new. */
const MOST_PODS = 5;

export function problemsOf(status: ClusterStatus, command: CommandText): Problem[] {
  if (!status.exists) return [];
  return [
    ...componentProblems(status, command),
    ...apiProblems(status, command),
    ...status.nodes.flatMap(({ name, troubles }) =>
      troubles.map((trouble) => nodeProblem(status, name, trouble, command)),
    ),
    ...podProblems(status, command),
  ];
}

function componentProblems({ components, joined }: ClusterStatus, command: CommandText): Problem[] {
  const start = command(joined === undefined ? 'up' : 'agent', '--detach');
  const dead = components.filter(({ pid }) => pid === undefined).map(({ name }) => name);
  if (dead.length === components.length) return [{ what: 'nothing of it runs', fix: `start it: ${start}` }];
  if (dead.includes(SUPERVISOR))
    return [
      {
        what: `the supervisor ended, so that nothing is started again (not running: ${dead.join(', ')})`,
        fix: `start it again, its pods go on: ${start}`,
      },
    ];
  return dead.map((name) => ({
    what: `${name} does not run; the supervisor starts it again`,
    fix: `if it stays so, see why: ${command('logs', logOf(name, components))}`,
  }));
}

/** A further node's own log is that of its agent. */
const logOf = (name: string, components: ClusterStatus['components']) =>
  components.some((one) => one.name === name) && !['server', 'agent', 'containerd'].includes(name)
    ? `${name}/agent`
    : name;

function apiProblems(
  { unreachable, joined, components, isMember }: ClusterStatus,
  command: CommandText,
): Problem[] {
  if (components.every(({ pid }) => pid === undefined)) return [];
  if (isMember === false)
    return [
      {
        what: 'this node has not been given its certificate yet',
        fix: `is ${joined} reachable from here? See ${command('logs', 'agent')}`,
      },
    ];
  if (unreachable === undefined) return [];
  const what = `the apiserver does not answer: ${unreachable}`;
  if (joined !== undefined)
    return [{ what, fix: `is ${joined} up, and reachable from here? Pods go on meanwhile` }];
  return [{ what, fix: `see why: ${command('logs', 'server')}` }];
}

/** One condition of a node that is not as it should be. */
export interface NodeTrouble {
  readonly condition: 'Ready' | 'Unknown' | 'MemoryPressure' | 'DiskPressure' | 'PIDPressure' | 'Cordoned';
  readonly message: string;
}

const PRESSURES = ['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

export function nodeTroubles({ spec, status }: Stored<V1Node>): NodeTrouble[] {
  const of = (type: string) => status.conditions?.find((condition) => condition.type === type);
  const ready = of('Ready');
  const troubles: NodeTrouble[] = [];
  if (ready?.status !== 'True')
    troubles.push({
      condition: ready?.status === 'Unknown' ? 'Unknown' : 'Ready',
      message: ready?.message ?? 'its kubelet has said nothing yet',
    });
  for (const condition of PRESSURES)
    if (of(condition)?.status === 'True') troubles.push({ condition, message: of(condition)?.message ?? '' });
  if (spec.unschedulable === true) troubles.push({ condition: 'Cordoned', message: '' });
  return troubles;
}

function nodeProblem(
  { dataDir, components }: ClusterStatus,
  node: string,
  { condition, message }: NodeTrouble,
  command: CommandText,
): Problem {
  const isFurther = components.some(({ name }) => name === node);
  const who = message.startsWith('container runtime') ? 'containerd' : 'agent';
  const logs = command('logs', isFurther ? `${node}/${who}` : who);
  switch (condition) {
    case 'Unknown':
      return {
        what: `node ${node} is silent: ${message}`,
        fix: `is its machine up, and reachable from here? There: ${logs}`,
      };
    case 'Ready':
      return { what: `node ${node} is not Ready: ${message}`, fix: `see ${logs}` };
    case 'DiskPressure':
      return {
        what: `node ${node} is short of disk space, and pods are evicted: ${message}`,
        fix: `free some where its data is (here ${dataDir}); images that nobody uses are removed by themselves`,
      };
    case 'MemoryPressure':
      return {
        what: `node ${node} is short of memory, and pods are evicted: ${message}`,
        fix: `see who takes it: ${command('kubectl', 'top', 'pods', '-A')}; give those pods limits, or the node more`,
      };
    case 'PIDPressure':
      return {
        what: `node ${node} is short of process numbers, and pods are evicted: ${message}`,
        fix: 'end what starts so many processes, or raise kernel.pid_max',
      };
    case 'Cordoned':
      return {
        what: `node ${node} takes no new pods: it is cordoned`,
        fix: command('kubectl', 'uncordon', node),
      };
  }
}

/** A pod that does not come to run. */
export interface PodTrouble {
  readonly namespace: string;
  readonly name: string;
  readonly why: string;
}

const STUCK = /^(CrashLoopBackOff|ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|.*Error)$/;

export function podTrouble({ metadata, status }: Stored<V1Pod>): PodTrouble | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const unplaced = status.conditions?.find(({ reason }) => reason === 'Unschedulable');
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const waiting = statuses.map(({ state }) => state?.waiting).find((one) => STUCK.test(one?.reason ?? ''));
  const why =
    unplaced === undefined
      ? waiting && [waiting.reason, waiting.message].filter((text) => text).join(': ')
      : `no node takes it: ${unplaced.message ?? ''}`;
  return why === undefined ? undefined : { namespace: metadata.namespace ?? '', name: metadata.name, why };
}

function podProblems({ pods: { troubled } }: ClusterStatus, command: CommandText): Problem[] {
  const shown = troubled.slice(0, MOST_PODS).map(({ namespace, name, why }) => ({
    what: `pod ${namespace}/${name}: ${why}`,
    fix: command('kubectl', '-n', namespace, 'describe', 'pod', name),
  }));
  const more = troubled.length - shown.length;
  if (more === 0) return shown;
  return [...shown, { what: `${more} more pods do not run`, fix: command('kubectl', 'get', 'pods', '-A') }];
}
