// What may change of a pod's resources while it runs. Pure.
// Guarantees: cpu and memory of containers that stay, within the pod's QoS class; nothing that was said is taken back.
import { type Cause, forbiddenField, invalidValue } from '../../causes.js';
import type { V1Container, V1Pod, V1PodSpec, V1ResourceRequirements } from '../../gen/types.js';
import { sameMeaning } from '../../meaning.js';
import { qosClassOf } from './qos.js';

const MIRROR = 'kubernetes.io/config.mirror';
const RESIZABLE = ['cpu', 'memory'];

type ResizedPod = Pick<V1Pod, 'metadata' | 'spec' | 'status'>;

/** Both pods differ in nothing but the resources and resize policies of their containers. */
export function validatePodResize({ spec }: ResizedPod, old: ResizedPod): Cause[] {
  if (spec === undefined || old.spec === undefined) return [];
  if (old.metadata?.annotations?.[MIRROR] !== undefined)
    return [forbiddenField('metadata', 'static pods cannot be resized')];
  if (old.spec.os?.name === 'windows') return [forbiddenField('spec', 'windows pods cannot be resized')];
  const qos = old.status?.qosClass ?? qosClassOf(old.spec);
  const sidecars = ({ restartPolicy }: V1Container) => restartPolicy === 'Always';
  return [
    ...(qosClassOf(spec) === qos
      ? []
      : [invalidValue('spec', qos, 'Pod QOS Class may not change as a result of resizing')]),
    ...(isSupported(old) ? [] : [forbiddenField('spec', 'Pod running on node without support for resize')]),
    ...whole(spec.resources, old.spec.resources),
    ...containers(spec.initContainers, old.spec.initContainers, 'spec.initContainers', sidecars),
    ...containers(spec.containers, old.spec.containers, 'spec.containers', () => true),
  ];
}

/** What the pod asks for as a whole: one that asked for nothing as such cannot begin to. */
function whole(next: V1ResourceRequirements | undefined, old: V1ResourceRequirements | undefined): Cause[] {
  if (old === undefined)
    return next === undefined
      ? []
      : [forbiddenField('spec.resources', 'pod-level resources cannot be added to a pod that runs')];
  const pod = { name: '', resources: next };
  const before = { name: '', resources: old };
  return [
    ...removed(pod, before, 'limits', 'spec.resources'),
    ...removed(pod, before, 'requests', 'spec.resources'),
    ...(sameMeaning('V1Container', others(pod), others(before))
      ? []
      : [forbiddenField('spec', 'only cpu and memory resources are mutable')]),
  ];
}

/** Containers are told apart by their places: the sent ones have to be the same, in the same order. */
export function validateResizedContainers(sent: V1PodSpec | undefined, old: V1PodSpec | undefined): Cause[] {
  return (['containers', 'initContainers'] as const).flatMap((list) => {
    const wanted = sent?.[list] ?? [];
    const held = old?.[list] ?? [];
    if (wanted.length !== held.length)
      return [forbiddenField(`spec.${list}`, `${list} may not be added or removed on resize`)];
    return held.flatMap(({ name }, at) =>
      wanted[at]?.name === name
        ? []
        : [forbiddenField(`spec.${list}[${at}].name`, `${list} may not be renamed or reordered on resize`)],
    );
  });
}

/** A kubelet that can do it shows what each running container has. */
function isSupported({ status }: ResizedPod): boolean {
  return (status?.containerStatuses ?? []).every(
    ({ state, resources }) => state?.running === undefined || resources !== undefined,
  );
}

function containers(
  next: readonly V1Container[] = [],
  old: readonly V1Container[] = [],
  at: string,
  isResizable: (container: V1Container) => boolean,
): Cause[] {
  return next.flatMap((container, index) => {
    const before = old[index];
    if (before === undefined) return [];
    const here = `${at}[${index}].resources`;
    if (!isResizable(container))
      return sameMeaning('V1ResourceRequirements', container.resources, before.resources)
        ? []
        : [forbiddenField(here, 'resources of init containers that end cannot be changed')];
    return [
      ...removed(container, before, 'limits', here),
      ...removed(container, before, 'requests', here),
      ...(sameMeaning('V1Container', others(container), others(before))
        ? []
        : [forbiddenField('spec', 'only cpu and memory resources are mutable')]),
    ];
  });
}

function removed(
  { resources = {} }: V1Container,
  { resources: before = {} }: V1Container,
  list: 'limits' | 'requests',
  at: string,
): Cause[] {
  const isGone = RESIZABLE.some(
    (name) => before[list]?.[name] !== undefined && resources[list]?.[name] === undefined,
  );
  return isGone ? [forbiddenField(`${at}.${list}`, `resource ${list} cannot be removed`)] : [];
}

/** A container without what a resize may change. */
function others({
  resources: { limits = {}, requests = {}, ...rest } = {},
  resizePolicy: _,
  ...container
}: V1Container) {
  const kept = (amounts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(amounts).filter(([name]) => !RESIZABLE.includes(name)));
  return { ...container, resources: { ...rest, limits: kept(limits), requests: kept(requests) } };
}
