// The configuration file: what it turns on and off, and the field that a refusal names.
import { describe, expect, test } from 'vitest';
import {
  defaultConfiguration,
  parseConfiguration,
} from '../../../../src/scheduler/configuration/configuration.js';
import { fieldsOf } from '../../../../src/scheduler/configuration/fields.js';
import { defaultProfile } from '../../../../src/scheduler/configuration/profiles.js';
import { PLUGINS } from '../../../../src/scheduler/configuration/registry.js';

const file = (rest: string) =>
  `apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n${rest}`;
const profileOf = (rest: string) => {
  const [profile] = parseConfiguration(file(`profiles:\n- ${rest}`)).profiles;
  if (profile === undefined) throw new Error('no profile');
  return {
    ...profile,
    filters: profile.filters.map(({ name }) => name),
    scores: Object.fromEntries(profile.scores.map(({ plugin, weight }) => [plugin.name, weight])),
  };
};

test('without a file is Kubernetes’ default', () => {
  const [profile] = defaultConfiguration().profiles;
  const names = (one: typeof profile) => [
    one?.filters.map(({ name }) => name),
    one?.scores.map(({ plugin, weight }) => [plugin.name, weight]),
    one?.preempts,
  ];
  expect(names(profile)).toEqual(names(defaultProfile()));
  expect(defaultConfiguration()).toMatchObject({ podInitialBackoffMs: 1000, podMaxBackoffMs: 10_000 });
});

describe('a profile', () => {
  test('turns plugins off and on, and weighs them', () => {
    const profile = profileOf(`schedulerName: packer
  plugins:
    multiPoint: {disabled: [{name: ImageLocality}], enabled: [{name: NodeLabel}]}
    score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 5}]}
    filter: {disabled: [{name: TaintToleration}]}
    postFilter: {disabled: [{name: DefaultPreemption}]}`);
    expect(profile).toMatchObject({
      schedulerName: 'packer',
      preempts: false,
      scores: { NodeResourcesFit: 5 },
    });
    expect(profile.filters).not.toContain('TaintToleration');
    expect(profile.filters).toContain('NodeLabel');
  });
  test('takes its share of nodes from itself, or from above', () => {
    const { profiles } = parseConfiguration(
      file(
        'percentageOfNodesToScore: 30\nprofiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 70}]',
      ),
    );
    expect(profiles.map((profile) => profile.percentageOfNodesToScore)).toEqual([30, 70]);
  });
  test('takes arguments as Kubernetes writes them', () => {
    const args = `pluginConfig:
  - name: NodeResourcesFit
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs, scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 2}]}}
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 7}
  - name: NodeAffinity
    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: In, values: [v]}]}]}}}`;
    expect(profileOf(args).filters).toContain('NodeAffinity');
  });
});

describe('what is wrong is named', () => {
  test.each([
    ['[', 'the configuration is not valid YAML'],
    ['kind: Pod', 'apiVersion: must be kubescheduler.config.k8s.io/v1'],
    ['apiVersion: kubescheduler.config.k8s.io/v1\nkind: Pod', 'kind: must be KubeSchedulerConfiguration'],
    [file('parralelism: 3'), 'parralelism: unknown field'],
    [
      file('podInitialBackoffSeconds: soon'),
      'podInitialBackoffSeconds: Invalid value: "soon": must be a whole number',
    ],
    [
      file('podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 2'),
      'podMaxBackoffSeconds: Invalid value: 2: must be greater',
    ],
    [file('percentageOfNodesToScore: 101'), 'percentageOfNodesToScore: Invalid value: 101'],
    [file('profiles: {}'), 'profiles: must be a list'],
    [
      file('profiles: [{schedulerName: a}, {schedulerName: a}]'),
      'profiles[1].schedulerName: Duplicate value: "a"',
    ],
    [
      file('profiles: [{plugins: {score: {enabled: [{name: Best}]}}}]'),
      'profiles[0].plugins.score.enabled[0].name: there is no plugin "Best"',
    ],
    [file('profiles: [{plugins: {scores: {}}}]'), 'profiles[0].plugins.scores: unknown field'],
    [
      file('profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Most}}}]}]'),
      'profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Most": supported values: "LeastAllocated"',
    ],
    [
      file(
        'profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]}]',
      ),
      'profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape: Required value',
    ],
    [
      file('profiles: [{pluginConfig: [{name: InterPodAffinity, args: {weight: 3}}]}]'),
      'profiles[0].pluginConfig[0].args.weight: unknown field',
    ],
    [
      file('profiles: [{pluginConfig: [{name: NodeName, args: {kind: OtherArgs}}]}]'),
      'profiles[0].pluginConfig[0].args.kind: must be NodeNameArgs',
    ],
    [file('leaderElection: {leaseDuration: long}'), 'leaderElection.leaseDuration: Invalid value: "long"'],
    [
      file('leaderElection: {leaseDuration: 5s}'),
      'leaderElection.leaseDuration: must be greater than renewDeadline',
    ],
    [file('extenders: [{urlPrefix: "x"}]'), 'extenders[0].urlPrefix: Invalid value: "x"'],
    [
      file('extenders: [{urlPrefix: "http://x", prioritizeVerb: p}]'),
      'extenders[0].weight: Invalid value: 0: must have a positive weight applied to it',
    ],
    [
      file('extenders: [{urlPrefix: "http://x", bindVerb: b}, {urlPrefix: "http://y", bindVerb: b}]'),
      'extenders: found 2 extenders implementing bind, only one is allowed',
    ],
    [
      file('extenders: [{urlPrefix: "http://x", httpTimeout: soon}]'),
      'extenders[0].httpTimeout: Invalid value: "soon"',
    ],
    [
      file('extenders: [{urlPrefix: "http://x", managedResources: [{name: cpu}]}]'),
      'extenders[0].managedResources[0].name: Invalid value: "cpu"',
    ],
    [
      file('extenders: [{urlPrefix: "https://x", enableHTTPS: true, tlsConfig: {caFile: /does/not/exist}}]'),
      'extenders[0].tlsConfig.caFile: ENOENT',
    ],
    [file('extenders: [{urlPrefix: "http://x", verb: v}]'), 'extenders[0].verb: unknown field'],
  ])('%j', (text, message) => {
    expect(() => parseConfiguration(text)).toThrow(message);
  });
});

test.each([...PLUGINS.values()])('the row of $name says where it is asked', ({ name, points, make }) => {
  const plugin = make(fieldsOf({}), { ignoredResources: [] });
  expect(plugin.name).toBe(name);
  const has = (['filter', 'score'] as const).filter((point) => plugin[point] !== undefined);
  expect(points).toEqual(has);
});
