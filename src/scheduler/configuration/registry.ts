// Every plugin in a row: its name, where it is asked, its weight, and how its arguments make it. Pure.
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

interface PluginRow {
  readonly name: string;
  /** Where it is asked; a test holds this against what `make` makes. */
  readonly points: readonly ('filter' | 'score')[];
  /** Of its score; 1 where none is said. */
  readonly weight?: number;
  /** Off unless a profile enables it. */
  readonly isOptional?: true;
  make(args: ConfigFields, context: PluginContext): Plugin;
}

const FILTER = ['filter'] as const;
const SCORE = ['score'] as const;
const BOTH = ['filter', 'score'] as const;

/** In the order in which they filter. */
const ROWS: readonly PluginRow[] = [
  { name: 'NodeUnschedulable', points: FILTER, make: () => nodeUnschedulable },
  { name: 'NodeName', points: FILTER, make: () => nodeName },
  { name: 'TaintToleration', points: BOTH, weight: 3, make: () => taintToleration },
  { name: 'NodeAffinity', points: BOTH, weight: 2, make: (args) => nodeAffinity(nodeAffinityArgs(args)) },
  { name: 'NodePorts', points: FILTER, make: () => nodePorts },
  {
    name: 'NodeResourcesFit',
    points: BOTH,
    make(args, { ignoredResources }) {
      const own = fitArgs(args);
      const ignored = [...(own.ignoredResources ?? []), ...ignoredResources];
      return nodeResourcesFit({ ...own, ignoredResources: ignored });
    },
  },
  { name: 'VolumeRestrictions', points: FILTER, make: () => volumeRestrictions },
  { name: 'NodeVolumeLimits', points: FILTER, make: () => nodeVolumeLimits },
  { name: 'VolumeBinding', points: FILTER, make: () => volumeBinding },
  { name: 'VolumeZone', points: FILTER, make: () => volumeZone },
  {
    name: 'PodTopologySpread',
    points: BOTH,
    weight: 2,
    make: (args) => podTopologySpread(spreadArgs(args)),
  },
  {
    name: 'InterPodAffinity',
    points: BOTH,
    weight: 2,
    make: (args) => interPodAffinity(interPodAffinityArgs(args)),
  },
  { name: 'NodeDeclaredFeatures', points: FILTER, make: () => nodeDeclaredFeatures },
  { name: 'DynamicResources', points: FILTER, make: () => dynamicResources },
  {
    name: 'NodeResourcesBalancedAllocation',
    points: SCORE,
    make(args) {
      const resources = resourceWeights(args);
      return nodeResourcesBalancedAllocation(resources === undefined ? {} : { resources });
    },
  },
  { name: 'ImageLocality', points: SCORE, make: () => imageLocality },
  { name: 'NodeLabel', points: BOTH, isOptional: true, make: (args) => nodeLabel(nodeLabelArgs(args)) },
  {
    name: 'ServiceAffinity',
    points: FILTER,
    isOptional: true,
    make: (args) => serviceAffinity({ affinityLabels: args.texts('affinityLabels') ?? [] }),
  },
];

export const PLUGINS: ReadonlyMap<string, PluginRow> = new Map(ROWS.map((row) => [row.name, row]));

/** Plugins of Kubernetes that are parts of the scheduler here: they may be named, and their arguments are theirs. */
export const BUILT_IN: ReadonlySet<string> = new Set([
  'SchedulingGates',
  'PrioritySort',
  'DefaultPreemption',
  'DefaultBinder',
]);
