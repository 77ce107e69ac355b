// Pods that need what only newer kubelets do go to nodes that say they do it. Pure.
// Guarantees: a pod that needs nothing of the kind may go anywhere; names and words are Kubernetes'.
import type { V1Node, V1PodSpec } from '../../api/gen/types.js';
import { type Plugin, simpleFilter } from '../plugin.js';

/** By the name that a node declares. */
const NEEDS: Readonly<Record<string, (spec: V1PodSpec) => boolean>> = {
  RestartAllContainersOnContainerExits: ({ containers, initContainers = [] }) =>
    [...containers, ...initContainers].some(({ restartPolicyRules = [] }) =>
      restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
    ),
  UserNamespacesHostNetworkSupport: ({ hostNetwork, hostUsers }) =>
    hostNetwork === true && hostUsers === false,
};

/** What the pod needs a node to declare. */
export const neededFeatures = (spec: V1PodSpec): readonly string[] =>
  Object.keys(NEEDS).filter((name) => NEEDS[name]?.(spec) === true);

const declares = (node: V1Node | undefined, names: readonly string[]): boolean =>
  names.every((name) => node?.status?.declaredFeatures?.includes(name) === true);

export const nodeDeclaredFeatures: Plugin = {
  name: 'NodeDeclaredFeatures',
  wokenBy: ['node added', 'node features'],
  filter({ spec }, { table }) {
    const needed = neededFeatures(spec);
    if (needed.length === 0) return undefined;
    return simpleFilter(
      (slot) => !declares(table.nodes[slot], needed),
      "node(s) didn't match Pod's required features",
      { final: true },
    );
  },
  helps: ({ node }, { spec }) => declares(node, neededFeatures(spec)),
};
