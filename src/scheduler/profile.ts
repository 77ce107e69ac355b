// The profile that applies when no configuration says otherwise: Kubernetes' plugins in its order, with its weights. Pure.
import type { Profile, WeightedPlugin } from './choose.js';
import type { Plugin } from './plugin.js';
import { systemSpread } from './plugins/defaultSpread.js';
import { dynamicResources } from './plugins/dynamicResources.js';
import { imageLocality } from './plugins/imageLocality.js';
import { interPodAffinity } from './plugins/interPodAffinity.js';
import { nodeAffinity } from './plugins/nodeAffinity.js';
import { nodeDeclaredFeatures } from './plugins/nodeDeclaredFeatures.js';
import { nodeName } from './plugins/nodeName.js';
import { nodePorts } from './plugins/nodePorts.js';
import { nodeResourcesBalancedAllocation } from './plugins/nodeResourcesBalancedAllocation.js';
import { nodeResourcesFit } from './plugins/nodeResourcesFit.js';
import { nodeUnschedulable } from './plugins/nodeUnschedulable.js';
import { nodeVolumeLimits } from './plugins/nodeVolumeLimits.js';
import { podTopologySpread } from './plugins/podTopologySpread.js';
import { taintToleration } from './plugins/taintToleration.js';
import { volumeBinding } from './plugins/volumeBinding.js';
import { volumeRestrictions } from './plugins/volumeRestrictions.js';
import { volumeZone } from './plugins/volumeZone.js';

export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

export const DEFAULT_WEIGHTS: Readonly<Record<string, number>> = {
  TaintToleration: 3,
  NodeAffinity: 2,
  PodTopologySpread: 2,
  InterPodAffinity: 2,
  NodeResourcesFit: 1,
  NodeResourcesBalancedAllocation: 1,
  ImageLocality: 1,
};

export const defaultPlugins = (): readonly Plugin[] => [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity(),
  nodePorts,
  nodeResourcesFit(),
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread(systemSpread),
  interPodAffinity(),
  nodeDeclaredFeatures,
  dynamicResources,
  nodeResourcesBalancedAllocation(),
  imageLocality,
];

export const weighted = (plugins: readonly Plugin[]): readonly WeightedPlugin[] =>
  plugins
    .filter(({ score }) => score !== undefined)
    .map((plugin) => ({ plugin, weight: DEFAULT_WEIGHTS[plugin.name] ?? 1 }));

export function defaultProfile(schedulerName = DEFAULT_SCHEDULER_NAME): Profile {
  const plugins = defaultPlugins();
  return {
    schedulerName,
    filters: plugins.filter(({ filter }) => filter !== undefined),
    scores: weighted(plugins),
    percentageOfNodesToScore: 0,
    preempts: true,
  };
}
