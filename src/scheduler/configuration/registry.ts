// Every plugin by name, and how its arguments make it. Pure.
// Guarantees: names, order and default weights are Kubernetes'; those of the first schedulers are there for who asks.

import type { ConfigFields } from '../../base/configFields.js';
import type { Plugin } from '../plugin.js';
import { dynamicResources } from '../plugins/dynamicResources.js';
import { imageLocality } from '../plugins/imageLocality.js';
import { interPodAffinity } from '../plugins/interPodAffinity.js';
import { nodeAffinity } from '../plugins/nodeAffinity.js';
import { nodeDeclaredFeatures } from '../plugins/nodeDeclaredFeatures.js';
import { nodeLabel } from '../plugins/nodeLabel.js';
import { nodeName } from '../plugins/nodeName.js';
import { nodePorts } from '../plugins/nodePorts.js';
import { nodeResourcesBalancedAllocation } from '../plugins/nodeResourcesBalancedAllocation.js';
import { nodeResourcesFit } from '../plugins/nodeResourcesFit.js';
import { nodeUnschedulable } from '../plugins/nodeUnschedulable.js';
import { nodeVolumeLimits } from '../plugins/nodeVolumeLimits.js';
import { podTopologySpread } from '../plugins/podTopologySpread.js';
import { serviceAffinity } from '../plugins/serviceAffinity.js';
import { taintToleration } from '../plugins/taintToleration.js';
import { volumeBinding } from '../plugins/volumeBinding.js';
import { volumeRestrictions } from '../plugins/volumeRestrictions.js';
import { volumeZone } from '../plugins/volumeZone.js';
import {
  fitArgs,
  interPodAffinityArgs,
  nodeAffinityArgs,
  nodeLabelArgs,
  resourceWeights,
  spreadArgs,
} from './pluginArgs.js';

/** What plugins take from the configuration beside their own arguments. */
export interface PluginContext {
  readonly ignoredResources: readonly string[];
}

type Make = (args: ConfigFields, context: PluginContext) => Plugin;

/** In the order in which they filter. */
export const PLUGINS: ReadonlyMap<string, Make> = new Map<string, Make>([
  ['NodeUnschedulable', () => nodeUnschedulable],
  ['NodeName', () => nodeName],
  ['TaintToleration', () => taintToleration],
  ['NodeAffinity', (args) => nodeAffinity(nodeAffinityArgs(args))],
  ['NodePorts', () => nodePorts],
  [
    'NodeResourcesFit',
    (args, { ignoredResources }) => {
      const own = fitArgs(args);
      return nodeResourcesFit({
        ...own,
        ignoredResources: [...(own.ignoredResources ?? []), ...ignoredResources],
      });
    },
  ],
  ['VolumeRestrictions', () => volumeRestrictions],
  ['NodeVolumeLimits', () => nodeVolumeLimits],
  ['VolumeBinding', () => volumeBinding],
  ['VolumeZone', () => volumeZone],
  ['PodTopologySpread', (args) => podTopologySpread(spreadArgs(args))],
  ['InterPodAffinity', (args) => interPodAffinity(interPodAffinityArgs(args))],
  ['NodeDeclaredFeatures', () => nodeDeclaredFeatures],
  ['DynamicResources', () => dynamicResources],
  [
    'NodeResourcesBalancedAllocation',
    (args) => {
      const resources = resourceWeights(args);
      return nodeResourcesBalancedAllocation(resources === undefined ? {} : { resources });
    },
  ],
  ['ImageLocality', () => imageLocality],
  ['NodeLabel', (args) => nodeLabel(nodeLabelArgs(args))],
  ['ServiceAffinity', (args) => serviceAffinity({ affinityLabels: args.texts('affinityLabels') ?? [] })],
]);

/** Off unless a profile enables them. */
export const OPTIONAL: ReadonlySet<string> = new Set(['NodeLabel', 'ServiceAffinity']);

/** Plugins of Kubernetes that are parts of the scheduler here: they may be named, and their arguments are theirs. */
export const BUILT_IN: ReadonlySet<string> = new Set([
  'SchedulingGates',
  'PrioritySort',
  'DefaultPreemption',
  'DefaultBinder',
]);
