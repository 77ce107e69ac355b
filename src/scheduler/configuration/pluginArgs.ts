// The arguments of each plugin, from the configuration's pluginConfig. Pure.
// Guarantees: arguments are those of kubescheduler.config.k8s.io/v1; a wrong one is refused with its path.
import type { V1NodeAffinity, V1TopologySpreadConstraint } from '../../api/gen/types.js';
import type { ConfigFields } from '../../base/configFields.js';
import type { ResourceWeight } from '../plugins/allocation.js';
import { listedSpread, systemSpread } from '../plugins/defaultSpread.js';
import type { InterPodAffinityArgs } from '../plugins/interPodAffinity.js';
import type { NodeAffinityArgs } from '../plugins/nodeAffinity.js';
import type { NodeLabelArgs } from '../plugins/nodeLabel.js';
import type { NodeResourcesFitArgs } from '../plugins/nodeResourcesFit.js';
import type { PodTopologySpreadArgs } from '../plugins/podTopologySpread.js';
import { wrong } from './fields.js';

export function fitArgs(args: ConfigFields): NodeResourcesFitArgs {
  const ignoredResources = args.texts('ignoredResources') ?? [];
  const ignoredResourceGroups = args.texts('ignoredResourceGroups') ?? [];
  const scoring = args.part('scoringStrategy');
  if (scoring === undefined) return { ignoredResources, ignoredResourceGroups };
  const strategy =
    scoring.oneOf('type', ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio']) ??
    'LeastAllocated';
  const resources = resourceWeights(scoring);
  const ratio = scoring.part('requestedToCapacityRatio');
  const shape = ratio?.parts('shape')?.map((point) => {
    const read = {
      utilization: point.number('utilization', 0, 100) ?? 0,
      score: point.number('score', 0, 10) ?? 0,
    };
    point.end();
    return read;
  });
  ratio?.end();
  scoring.end();
  if (strategy === 'RequestedToCapacityRatio')
    checkShape(shape, scoring.path('requestedToCapacityRatio.shape'));
  return {
    ignoredResources,
    ignoredResourceGroups,
    strategy,
    ...(resources === undefined ? {} : { resources }),
    ...(shape === undefined ? {} : { shape }),
  };
}

function checkShape(shape: readonly { readonly utilization: number }[] | undefined, path: string): void {
  if (shape === undefined || shape.length === 0)
    throw wrong(path, 'Required value: at least one point must be specified');
  shape.forEach(({ utilization }, at) => {
    const before = shape[at - 1];
    if (before !== undefined && before.utilization >= utilization)
      throw wrong(
        `${path}[${at}].utilization`,
        `Invalid value: ${utilization}: utilization values must be sorted in increasing order`,
      );
  });
}

export function resourceWeights(fields: ConfigFields): readonly ResourceWeight[] | undefined {
  return fields.parts('resources')?.map((part) => {
    const name = part.text('name') ?? '';
    if (name === '') throw wrong(part.path('name'), 'Required value');
    const weight = part.number('weight', 1, 100) ?? 1;
    part.end();
    return { name, weight };
  });
}

export function interPodAffinityArgs(args: ConfigFields): InterPodAffinityArgs {
  return {
    hardPodAffinityWeight: args.number('hardPodAffinityWeight', 0, 100) ?? 1,
    ignorePreferredTermsOfExistingPods: args.flag('ignorePreferredTermsOfExistingPods') ?? false,
  };
}

export function nodeAffinityArgs(args: ConfigFields): NodeAffinityArgs {
  const added = args.part('addedAffinity');
  if (added === undefined) return {};
  const required = added.part('requiredDuringSchedulingIgnoredDuringExecution');
  const preferred = added.parts('preferredDuringSchedulingIgnoredDuringExecution');
  added.end();
  const terms = required?.parts('nodeSelectorTerms')?.map(nodeSelectorTerm);
  required?.end();
  const addedAffinity: V1NodeAffinity = {
    ...(terms === undefined
      ? {}
      : { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }),
    ...(preferred === undefined
      ? {}
      : {
          preferredDuringSchedulingIgnoredDuringExecution: preferred.map((wish) => {
            const weight = wish.number('weight', 1, 100) ?? 1;
            const preference = wish.part('preference');
            wish.end();
            return { weight, preference: preference === undefined ? {} : nodeSelectorTerm(preference) };
          }),
        }),
  };
  return { addedAffinity };
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'] as const;

function nodeSelectorTerm(term: ConfigFields) {
  const requirements = (name: string) =>
    (term.parts(name) ?? []).map((part) => {
      const key = part.text('key') ?? '';
      const operator = part.oneOf('operator', OPERATORS);
      const values = part.texts('values') ?? [];
      part.end();
      if (operator === undefined) throw wrong(part.path('operator'), 'Required value');
      return { key, operator, values };
    });
  const read = {
    matchExpressions: requirements('matchExpressions'),
    matchFields: requirements('matchFields'),
  };
  term.end();
  return read;
}

export function spreadArgs(args: ConfigFields): PodTopologySpreadArgs {
  const type = args.oneOf('defaultingType', ['System', 'List']) ?? 'System';
  const constraints = (args.parts('defaultConstraints') ?? []).map((part): V1TopologySpreadConstraint => {
    const topologyKey = part.text('topologyKey') ?? '';
    if (topologyKey === '') throw wrong(part.path('topologyKey'), 'Required value');
    const maxSkew = part.number('maxSkew', 1, 2 ** 31 - 1) ?? 1;
    const whenUnsatisfiable =
      part.oneOf('whenUnsatisfiable', ['DoNotSchedule', 'ScheduleAnyway']) ?? 'DoNotSchedule';
    part.end();
    return { topologyKey, maxSkew, whenUnsatisfiable };
  });
  if (type === 'System' && constraints.length > 0)
    throw wrong(
      args.path('defaultingType'),
      'Invalid value: "System": when .defaultConstraints are specified',
    );
  return type === 'System' ? systemSpread : listedSpread(constraints);
}

export function nodeLabelArgs(args: ConfigFields): NodeLabelArgs {
  return {
    presentLabels: args.texts('presentLabels') ?? [],
    absentLabels: args.texts('absentLabels') ?? [],
    presentLabelsPreference: args.texts('presentLabelsPreference') ?? [],
    absentLabelsPreference: args.texts('absentLabelsPreference') ?? [],
  };
}
