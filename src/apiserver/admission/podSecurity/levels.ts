// What a namespace demands of its pods, by its labels, and what of that a pod breaks. Pure.
// Guarantees: a label that cannot be read counts as the strictest level, so that a typing error opens nothing.
import type { V1ObjectMeta, V1PodSpec, V1StatusCause } from '../../../api/gen/types.js';
import { BASELINE } from './baseline.js';
import type { Violation } from './check.js';
import { RESTRICTED } from './restricted.js';

const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof LEVELS)[number];
const MODES = ['enforce', 'audit', 'warn'] as const;
type Mode = (typeof MODES)[number];

export interface LevelVersion {
  readonly level: Level;
  /** `latest` or `v1.25`, as written. */
  readonly version: string;
}

type Policy = Readonly<Record<Mode, LevelVersion>>;

export const PREFIX = 'pod-security.kubernetes.io/';
const LABELS_OF: Readonly<Record<Mode, { readonly level: string; readonly version: string }>> = {
  enforce: labelsOf('enforce'),
  audit: labelsOf('audit'),
  warn: labelsOf('warn'),
};
const LATEST = 'latest';
const VERSION = /^v1\.(0|[1-9]\d{0,2})$/;

type Labels = Readonly<Record<string, string>>;

function labelsOf(mode: Mode) {
  return { level: `${PREFIX}${mode}`, version: `${PREFIX}${mode}-version` };
}

export function policyOf(labels: Labels = {}): Policy {
  const read = (mode: Mode): LevelVersion => {
    const level = labels[LABELS_OF[mode].level];
    const version = labels[LABELS_OF[mode].version] ?? LATEST;
    const known = LEVELS.find((one) => one === level);
    return {
      level: level === undefined ? 'privileged' : (known ?? 'restricted'),
      version: isVersion(version) ? version : LATEST,
    };
  };
  return { enforce: read('enforce'), audit: read('audit'), warn: read('warn') };
}

/** What is wrong with the labels themselves. */
export function labelFaults(labels: Labels = {}): V1StatusCause[] {
  return MODES.flatMap((mode) => {
    const level = labels[LABELS_OF[mode].level];
    const version = labels[LABELS_OF[mode].version];
    const fault = (key: string, value: string, why: string): V1StatusCause => ({
      field: `metadata.labels[${PREFIX}${key}]`,
      reason: 'FieldValueInvalid',
      message: `Invalid value: "${value}": ${why}`,
    });
    return [
      ...(level !== undefined && !(LEVELS as readonly string[]).includes(level)
        ? [fault(mode, level, `must be one of ${LEVELS.join(', ')}`)]
        : []),
      ...(version !== undefined && !isVersion(version)
        ? [fault(`${mode}-version`, version, 'must be "latest" or "v1.x"')]
        : []),
    ];
  });
}

const isVersion = (version: string): boolean => version === LATEST || VERSION.test(version);

export interface PodLike {
  readonly metadata?: Pick<V1ObjectMeta, 'annotations'> | undefined;
  readonly spec: V1PodSpec;
}

export function violations({ level, version }: LevelVersion, { metadata, spec }: PodLike): Violation[] {
  if (level === 'privileged') return [];
  const minor = Number(VERSION.exec(version)?.[1] ?? Number.POSITIVE_INFINITY);
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  const replaced = level === 'restricted' ? RESTRICTED.map(({ replaces }) => replaces) : [];
  const checks = [
    ...BASELINE.filter(({ id }) => !replaced.includes(id)),
    ...(level === 'restricted' ? RESTRICTED : []),
  ];
  const pod = { metadata: metadata ?? {}, spec, containers, minor };
  return checks.flatMap((check) => check.find(pod) ?? []);
}

export const shown = (wanted: LevelVersion): string => `"${named(wanted)}"`;

export const named = ({ level, version }: LevelVersion): string => `${level}:${version}`;

export const listed = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');

/** Whether pods that the old demand allowed may break the new one. */
export function isStricter(wanted: LevelVersion, held: LevelVersion): boolean {
  return LEVELS.indexOf(wanted.level) > LEVELS.indexOf(held.level) || wanted.version !== held.version;
}
