// One profile of the configuration: which plugins, with which arguments and weights. Pure.
// Guarantees: what a profile does not say is as the registry of plugins has it.

import type { ConfigFields } from '../../base/configFields.js';
import type { Profile, WeightedPlugin } from '../choose.js';
import type { Plugin } from '../plugin.js';
import { fieldsOf, wrong } from './fields.js';
import { BUILT_IN, PLUGINS, type PluginContext } from './registry.js';

export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

const POINTS = [
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
  'multiPoint',
  'placementGenerate',
  'placementScore',
] as const;
type Point = (typeof POINTS)[number];

interface PointSet {
  /** Name to weight; 0 when none is given. */
  readonly enabled: ReadonlyMap<string, number>;
  readonly disabled: ReadonlySet<string>;
}

interface ProfileDefaults {
  readonly percentage: number;
  /** Resources that an extender looks after in the scheduler's place. */
  readonly ignoredResources: readonly string[];
}

export function readProfile(
  fields: ConfigFields,
  { percentage, ignoredResources }: ProfileDefaults,
): Profile {
  const schedulerName = fields.text('schedulerName') || DEFAULT_SCHEDULER_NAME;
  const percentageOfNodesToScore = fields.number('percentageOfNodesToScore', 0, 100) ?? percentage;
  const points = readPoints(fields.part('plugins'));
  const configs = fields.parts('pluginConfig') ?? [];
  const plugins = makePlugins(configs, fields.path('pluginConfig'), { ignoredResources });
  fields.end();
  const isOn = (name: string, ...own: readonly Point[]) => {
    const multi = points.multiPoint;
    if (own.some((point) => points[point].enabled.has(name))) return true;
    if (own.some((point) => points[point].disabled.has(name) || points[point].disabled.has('*')))
      return false;
    if (multi.enabled.has(name)) return true;
    return PLUGINS.get(name)?.isOptional !== true && !multi.disabled.has(name) && !multi.disabled.has('*');
  };
  const weightOf = (name: string) =>
    points.score.enabled.get(name) || points.multiPoint.enabled.get(name) || (PLUGINS.get(name)?.weight ?? 1);
  const askedAt = (point: 'filter' | 'score') =>
    [...plugins].flatMap(([name, plugin]) =>
      PLUGINS.get(name)?.points.includes(point) === true && isOn(name, point) ? [plugin] : [],
    );
  return {
    schedulerName,
    percentageOfNodesToScore,
    filters: askedAt('filter'),
    scores: askedAt('score').map((plugin): WeightedPlugin => ({ plugin, weight: weightOf(plugin.name) })),
    preempts: isOn('DefaultPreemption', 'postFilter'),
  };
}

/** The profile that applies when no configuration says otherwise. */
export const defaultProfile = (schedulerName = DEFAULT_SCHEDULER_NAME): Profile =>
  readProfile(fieldsOf({ schedulerName }), { percentage: 0, ignoredResources: [] });

function readPoints(fields: ConfigFields | undefined): Readonly<Record<Point, PointSet>> {
  const points = Object.fromEntries(POINTS.map((point) => [point, readPoint(fields?.part(point))]));
  fields?.end();
  return points as Record<Point, PointSet>;
}

function readPoint(fields: ConfigFields | undefined): PointSet {
  const enabled = new Map<string, number>();
  for (const part of fields?.parts('enabled') ?? []) {
    const name = pluginName(part);
    const weight = part.number('weight', 0, 2 ** 31 - 1) ?? 0;
    part.end();
    if (enabled.has(name)) throw wrong(part.path('name'), `Duplicate value: ${JSON.stringify(name)}`);
    enabled.set(name, weight);
  }
  const disabled = new Set<string>();
  for (const part of fields?.parts('disabled') ?? []) {
    disabled.add(part.text('name') === '*' ? '*' : pluginName(part));
    part.number('weight', 0, 2 ** 31 - 1);
    part.end();
  }
  fields?.end();
  return { enabled, disabled };
}

function pluginName(part: ConfigFields): string {
  const name = part.text('name') ?? '';
  if (PLUGINS.has(name) || BUILT_IN.has(name)) return name;
  const known = [...PLUGINS.keys(), ...BUILT_IN].join(', ');
  throw wrong(
    part.path('name'),
    name === '' ? 'Required value' : `there is no plugin ${JSON.stringify(name)}; there are: ${known}`,
  );
}

function makePlugins(
  configs: readonly ConfigFields[],
  path: string,
  common: PluginContext,
): ReadonlyMap<string, Plugin> {
  const args = new Map<string, ConfigFields>();
  configs.forEach((part) => {
    const name = pluginName(part);
    if (args.has(name)) throw wrong(part.path('name'), `Duplicate value: ${JSON.stringify(name)}`);
    args.set(name, part.section('args'));
    part.end();
  });
  const plugins = new Map<string, Plugin>();
  for (const [name, row] of PLUGINS) {
    const own = args.get(name) ?? fieldsOf({}, path);
    checkKind(own, name);
    plugins.set(name, row.make(own, common));
    own.end();
  }
  return plugins;
}

/** Arguments may say what they are, as Kubernetes writes them. */
function checkKind(args: ConfigFields, name: string): void {
  args.text('apiVersion');
  const kind = args.text('kind');
  if (kind !== undefined && kind !== `${name}Args`) throw wrong(args.path('kind'), `must be ${name}Args`);
}
