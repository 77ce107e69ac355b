// What `kubectl get pods` shows. Pure.
// Guarantees: STATUS is the most telling word: a container's trouble before the pod's phase, Terminating before both.
import { ageColumn, column, nameColumn, orNone } from '../../columns.js';
import { ageOf } from '../../duration.js';
import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod } from '../../gen/types.js';
import type { Column } from '../../kind.js';

interface PodSummary {
  readonly ready: number;
  readonly total: number;
  readonly status: string;
  readonly restarts: number;
  /** Absent when nothing was ever restarted. */
  readonly lastRestart: string | undefined;
}

/** Init containers that keep running beside the others. */
const isSidecar = (container: V1Container | undefined) => container?.restartPolicy === 'Always';

function summarizePod(pod: V1Pod): PodSummary {
  const { spec, status } = pod;
  const sidecars = (spec?.initContainers ?? []).filter(isSidecar).length;
  const init = summarizeInit(pod);
  const initialized = hasCondition(pod, 'Initialized');
  const main = init.status === undefined || initialized ? summarizeMain(pod) : undefined;
  const gated = status?.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  const phase = status?.reason || (gated ? 'SchedulingGated' : status?.phase) || '';
  return {
    ready: init.ready + (main?.ready ?? 0),
    total: (spec?.containers.length ?? 0) + sidecars,
    status: endingOf(pod) ?? main?.status ?? init.status ?? phase,
    restarts: main === undefined ? init.restarts : init.sidecarRestarts + main.restarts,
    lastRestart: latest([main === undefined ? init.lastRestart : init.sidecarRestart, main?.lastRestart]),
  };
}

function endingOf({ metadata, status }: V1Pod): string | undefined {
  if (metadata?.deletionTimestamp === undefined) return undefined;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? undefined : 'Terminating';
}

function summarizeInit({ spec, status }: V1Pod) {
  const containers = spec?.initContainers ?? [];
  const statuses = status?.initContainerStatuses ?? [];
  const find = (name: string) => containers.find((container) => container.name === name);
  const sidecars = statuses.filter(({ name }) => isSidecar(find(name)));
  let word: string | undefined;
  let ready = 0;
  for (const [index, container] of statuses.entries()) {
    const { state } = container;
    if (state?.terminated?.exitCode === 0) continue;
    if (isSidecar(find(container.name)) && container.started === true) {
      if (container.ready) ready++;
      continue;
    }
    word = initWord(state, `${index}/${containers.length}`);
    break;
  }
  return {
    status: word,
    ready,
    restarts: sumRestarts(statuses),
    lastRestart: latest(statuses.map(lastFinish)),
    sidecarRestarts: sumRestarts(sidecars),
    sidecarRestart: latest(sidecars.map(lastFinish)),
  };
}

function initWord(state: V1ContainerState | undefined, progress: string): string {
  if (state?.terminated !== undefined) return `Init:${terminatedWord(state.terminated)}`;
  const reason = state?.waiting?.reason;
  return reason && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${progress}`;
}

function summarizeMain(pod: V1Pod) {
  const statuses = pod.status?.containerStatuses ?? [];
  let word: string | undefined;
  let ready = 0;
  // From the last to the first, so that the first container in trouble has the last word.
  for (const { state, ready: isReady } of [...statuses].reverse()) {
    if (state?.waiting?.reason) word = state.waiting.reason;
    else if (state?.terminated !== undefined) word = terminatedWord(state.terminated);
    else if (isReady && state?.running !== undefined) ready++;
  }
  if (word === 'Completed' && ready > 0) word = hasCondition(pod, 'Ready') ? 'Running' : 'NotReady';
  return {
    status: word,
    ready,
    restarts: sumRestarts(statuses),
    lastRestart: latest(statuses.map(lastFinish)),
  };
}

function terminatedWord({ reason, signal, exitCode }: NonNullable<V1ContainerState['terminated']>): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);
}

const hasCondition = ({ status }: V1Pod, type: string) =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;

const sumRestarts = (statuses: readonly V1ContainerStatus[]) =>
  statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);

const lastFinish = ({ lastState }: V1ContainerStatus) => lastState?.terminated?.finishedAt ?? undefined;

/** Times of one form compare as text. */
const latest = (times: readonly (string | undefined)[]) =>
  times.reduce(
    (best, time) => (time !== undefined && (best === undefined || time > best) ? time : best),
    undefined,
  );

function restartsCell(pod: V1Pod, now: number): string {
  const { restarts, lastRestart } = summarizePod(pod);
  return restarts > 0 && lastRestart !== undefined
    ? `${restarts} (${ageOf(lastRestart, now)} ago)`
    : String(restarts);
}

function readyCell(pod: V1Pod): string {
  const { ready, total } = summarizePod(pod);
  return `${ready}/${total}`;
}

function gatesCell(pod: V1Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  return `${gates.filter(({ conditionType }) => hasCondition(pod, conditionType)).length}/${gates.length}`;
}

export const podColumns: readonly Column<V1Pod>[] = [
  nameColumn,
  column('Ready', readyCell, { description: 'How many of its containers are ready.' }),
  column('Status', (pod) => summarizePod(pod).status, { description: 'The state of the pod in one word.' }),
  column('Restarts', restartsCell, {
    description: 'How often its containers were restarted, and when last.',
  }),
  ageColumn,
  column('IP', ({ status }) => orNone(status?.podIPs?.[0]?.ip ?? status?.podIP), {
    description: 'The address of the pod.',
    wide: true,
  }),
  column('Node', ({ spec }) => orNone(spec?.nodeName), { description: 'The node it runs on.', wide: true }),
  column('Nominated Node', ({ status }) => orNone(status?.nominatedNodeName), {
    description: 'The node where others are being removed for it.',
    wide: true,
  }),
  column('Readiness Gates', gatesCell, {
    description: 'How many of the conditions it also waits for hold.',
    wide: true,
  }),
];
