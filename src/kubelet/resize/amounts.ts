// Requests and limits of containers as a resize sees them: cpu and memory, compared by what they mean. Pure.
// Guarantees: `1` and `1000m` are the same; what a resize cannot change is never looked at.
import type {
  V1Container,
  V1ContainerResizePolicy,
  V1PodSpec,
  V1ResourceRequirements,
} from '../../api/gen/types.js';
import { compareQuantities } from '../../api/quantity.js';

const RESIZABLE = ['cpu', 'memory'] as const;

/** Undefined keeps what the container has. */
export type ResourcesByName = (container: V1Container) => V1ResourceRequirements | undefined;

/** Those that a resize is about: one that has ended keeps what it had. */
export const resizableContainers = (spec: V1PodSpec): readonly V1Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];

/** What differs between two sets of resources. */
export function changedAmounts(
  one: V1ResourceRequirements | undefined,
  other: V1ResourceRequirements | undefined,
): readonly (typeof RESIZABLE)[number][] {
  return RESIZABLE.filter((name) =>
    (['requests', 'limits'] as const).some((list) => !isSame(one?.[list]?.[name], other?.[list]?.[name])),
  );
}

/** What holds for a container: of a limit that it does not have itself, the one of its pod as a whole. */
export function withPodLimits(
  own: V1ResourceRequirements | undefined,
  whole: V1ResourceRequirements | undefined,
): V1ResourceRequirements | undefined {
  if (whole?.limits === undefined) return own;
  return { ...own, limits: { ...whole.limits, ...own?.limits } };
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one === other || compareQuantities(one, other) === 0;
}

/** A change of one of these means a new run of the container. */
export function needsRestart(
  policies: readonly V1ContainerResizePolicy[] | undefined,
  changed: readonly string[],
): boolean {
  return (policies ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' && changed.includes(resourceName),
  );
}

/** The spec with other resources, of its containers and as a whole, where none is `{}`; itself when none differ. */
export function withResources(
  spec: V1PodSpec,
  resourcesOf: ResourcesByName,
  whole: V1ResourceRequirements | undefined,
): V1PodSpec {
  const { resources } = spec;
  if (whole === undefined || resources === undefined || changedAmounts(whole, resources).length === 0)
    return withContainerResources(spec, resourcesOf);
  const { resources: _, ...rest } = spec;
  const isNone = whole.requests === undefined && whole.limits === undefined;
  return withContainerResources(isNone ? rest : { ...rest, resources: whole }, resourcesOf);
}

function withContainerResources(spec: V1PodSpec, resourcesOf: ResourcesByName): V1PodSpec {
  const changed = (container: V1Container) => {
    const resources = resourcesOf(container);
    return resources !== undefined && changedAmounts(resources, container.resources).length > 0
      ? { ...container, resources }
      : container;
  };
  if (resizableContainers(spec).every((container) => changed(container) === container)) return spec;
  const { initContainers } = spec;
  return {
    ...spec,
    containers: spec.containers.map(changed),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(changed) }),
  };
}

/** For the events of a resize: what each container gets, as JSON. */
export function summaryOf(spec: V1PodSpec): string {
  const each = (list: readonly V1Container[] = []) =>
    list.map(({ name, resources = {} }) => ({ name, resources }));
  const initContainers = each(spec.initContainers);
  return JSON.stringify({
    ...(spec.resources === undefined ? {} : { pod: { resources: spec.resources } }),
    ...(initContainers.length === 0 ? {} : { initContainers }),
    containers: each(spec.containers),
  });
}
