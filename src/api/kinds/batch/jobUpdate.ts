// What may change of a job that exists. Pure.
// Guarantees: the pods of one job are made of one template; only while it is suspended and has none may
// they be sent elsewhere or get other resources.
import { type Cause, checkImmutable, invalidValue } from '../../causes.js';
import type { V1Container, V1Job, V1JobSpec, V1PodTemplateSpec } from '../../gen/types.js';
import { sameMeaning } from '../../meaning.js';

const FIXED = [
  'selector',
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const;

export function validateJobUpdate(spec: V1JobSpec, old: V1Job): Cause[] {
  const before = old.spec ?? spec;
  return [
    ...validateCompletions(spec, before),
    ...FIXED.flatMap((field) =>
      checkImmutable(`spec.${field}`, `V1JobSpec.${field}`, spec[field], before[field]),
    ),
    ...validateTemplateUpdate(spec, old, before),
  ];
}

/** An indexed job is elastic: it may grow or shrink together with its parallelism. */
function validateCompletions(spec: V1JobSpec, old: V1JobSpec): Cause[] {
  const { completions, parallelism, completionMode } = spec;
  if (completions === old.completions) return [];
  if (completionMode !== 'Indexed')
    return checkImmutable('spec.completions', 'V1JobSpec.completions', completions, old.completions);
  return completions === parallelism && old.completions === old.parallelism
    ? []
    : [
        invalidValue(
          'spec.completions',
          completions ?? null,
          'can only be modified in tandem with parallelism',
        ),
      ];
}

function validateTemplateUpdate(spec: V1JobSpec, old: V1Job, before: V1JobSpec): Cause[] {
  const wanted = isAtRest(old) ? withRoom(spec.template, before.template) : spec.template;
  return sameMeaning('V1PodTemplateSpec', wanted, before.template)
    ? []
    : [invalidValue('spec.template', spec.template, 'field is immutable')];
}

/** Suspended without a pod: it never started, or its controller has said that it stands still. */
function isAtRest({ spec, status }: V1Job): boolean {
  const isStill =
    status?.startTime === undefined ||
    status.conditions?.some((one) => one.type === 'Suspended' && one.status === 'True') === true;
  return spec?.suspend === true && isStill && (status?.active ?? 0) === 0;
}

/** The template as if where its pods go, and the room they take, had not changed. */
function withRoom(template: V1PodTemplateSpec, old: V1PodTemplateSpec): V1PodTemplateSpec {
  if (template.spec === undefined || old.spec === undefined) return template;
  const { nodeSelector, tolerations, affinity, schedulingGates, containers, initContainers } = old.spec;
  return {
    metadata: old.metadata,
    spec: {
      ...template.spec,
      nodeSelector,
      tolerations,
      affinity,
      schedulingGates,
      containers: withResources(template.spec.containers, containers),
      initContainers:
        template.spec.initContainers && withResources(template.spec.initContainers, initContainers),
    },
  };
}

/** The containers with the resources that those of the same place and name had. */
function withResources(
  containers: readonly V1Container[],
  old: readonly V1Container[] = [],
): readonly V1Container[] {
  return containers.map((container, index) =>
    container.name === old[index]?.name ? { ...container, resources: old[index].resources } : container,
  );
}
