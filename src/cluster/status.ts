// What runs of a cluster, how much memory it takes, and what is wrong with it.
// Guarantees: looks only; answers also when nothing runs.
import { existsSync, readFileSync } from 'node:fs';
import { NODES, PODS } from '../api/resources.js';
import { messageOf } from '../base/errorMessage.js';
import { openCgroups } from '../kernel/cgroup/adapter.js';
import { isAlive, type ProcessIdentity } from '../kernel/processIdentity.js';
import { withApi } from './api.js';
import type { Layout } from './layout.js';
import { agentGroup, knownNodes } from './nodes/space.js';
import { type NodeTrouble, nodeTroubles, type PodTrouble, podTrouble } from './problems.js';
import { readSettings } from './settings.js';
import { readState } from './state.js';

export interface ComponentStatus {
  readonly name: string;
  readonly pid?: number;
  /** Bytes in memory, of a node those of its own processes together; absent when it does not run. */
  readonly residentBytes?: number;
}

export interface NodeStatus {
  readonly name: string;
  readonly ready: boolean;
  /** Why it is not Ready, in the kubelet's words. */
  readonly message: string;
  readonly troubles: readonly NodeTrouble[];
}

export interface ClusterStatus {
  readonly dataDir: string;
  readonly exists: boolean;
  /** The server of the cluster that this machine has joined, if it has; nodes and pods are then its own alone. */
  readonly joined?: string;
  /** Of a machine that has joined: whether it has the certificate by which it is a node. */
  readonly isMember?: boolean;
  readonly components: readonly ComponentStatus[];
  /** Why the apiserver could not be asked; nodes and pods are unknown then. */
  readonly unreachable?: string;
  readonly nodes: readonly NodeStatus[];
  readonly pods: {
    readonly running: number;
    readonly total: number;
    readonly troubled: readonly PodTrouble[];
  };
}

export async function clusterStatus(layout: Layout): Promise<ClusterStatus> {
  const { supervisor, components } = await readState(layout);
  const processes = { ...(supervisor === undefined ? {} : { supervisor }), ...components };
  const settings = await readSettings(layout);
  const isJoined = settings !== undefined && settings.server !== '';
  const base = {
    dataDir: layout.dataDir,
    exists: settings !== undefined,
    ...(isJoined ? { joined: settings.server } : {}),
    components: await Promise.all(
      Object.entries(processes).map(([name, identity]) => componentStatus(layout, name, identity)),
    ),
    nodes: [],
    pods: { running: 0, total: 0, troubled: [] },
  };
  if (settings === undefined) return base;
  if (isJoined && !existsSync(layout.nodeKubeconfig)) return { ...base, isMember: false };
  try {
    const asked = isJoined
      ? await askApiserver(layout.nodeKubeconfig, settings.nodeName)
      : await askApiserver(layout.adminKubeconfig);
    return { ...base, ...asked };
  } catch (error) {
    return { ...base, unreachable: messageOf(error) };
  }
}

/** Whether everything that should run does, and each node is Ready; a control plane alone may have none yet. */
export function isHealthy(status: ClusterStatus): boolean {
  return (
    status.exists &&
    status.unreachable === undefined &&
    status.isMember !== false &&
    status.components.length > 0 &&
    status.components.every(({ pid }) => pid !== undefined) &&
    (status.nodes.length > 0 || !status.components.some(({ name }) => name === 'agent')) &&
    status.nodes.every(({ ready }) => ready)
  );
}

/** Of one node, or of the whole cluster. */
function askApiserver(kubeconfig: string, node?: string): Promise<Pick<ClusterStatus, 'nodes' | 'pods'>> {
  const only = (field: string) => (node === undefined ? {} : { fieldSelector: `${field}=${node}` });
  return withApi(kubeconfig, async (client) => {
    const [nodes, pods] = await Promise.all([
      client.of(NODES).list(only('metadata.name')),
      client.of(PODS).list(only('spec.nodeName')),
    ]);
    return {
      nodes: nodes.items.map((node) => {
        const condition = node.status.conditions?.find(({ type }) => type === 'Ready');
        return {
          name: node.metadata.name,
          ready: condition?.status === 'True',
          message: condition?.message ?? '',
          troubles: nodeTroubles(node),
        };
      }),
      pods: {
        running: pods.items.filter(({ status }) => status.phase === 'Running').length,
        total: pods.items.length,
        troubled: pods.items.map(podTrouble).filter((trouble) => trouble !== undefined),
      },
    };
  });
}

async function componentStatus(
  layout: Layout,
  name: string,
  identity: ProcessIdentity,
): Promise<ComponentStatus> {
  if (!isAlive(identity)) return { name };
  const { pid } = identity;
  const node = (await knownNodes(layout)).find((one) => one.name === name);
  const pids = node === undefined ? [pid] : await (await openCgroups()).pids(agentGroup(node));
  return { name, pid, residentBytes: pids.reduce((sum, one) => sum + residentBytes(one), 0) };
}

function residentBytes(pid: number): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(line?.[1] ?? 0) * 1024;
  } catch {
    return 0; // ended meanwhile
  }
}
