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
  return [
    ...(qosClassOf(spec) === qos
      ? []
      : [invalidValue('spec', qos, 'Pod QOS Class may not change as a result of resizing')]),
    ...(isSupported(old) ? [] : [forbiddenField('spec', 'Pod running on node without support for resize')]),
    ...whole(spec.resources, old.spec.resources),
    ...containers(spec.initContainers, old.spec.initContainers, initContainers),
    ...containers(spec.containers, old.spec.containers, mainContainers),
  ];
}

/** What the pod asks for as a whole: it may begin to, and then cannot end. */
function whole(next: V1ResourceRequirements | undefined, old: V1ResourceRequirements | undefined): Cause[] {
  if (old !== undefined && next === undefined)
    return [forbiddenField('spec.resources', 'pod-level resources cannot be removed')];
  const pod = { name: '', resources: next };
  const before = { name: '', resources: old };
  const gone = (list: 'limits' | 'requests') =>
    isRemoved(pod, before, list)
      ? [forbiddenField(`spec.resources.${list}`, `pod-level resource ${list} cannot be removed`)]
      : [];
  return [
    ...gone('requests'),
    ...gone('limits'),
    ...(sameMeaning('V1Container', others(pod), others(before))
      ? []
      : [forbiddenField('spec', 'only cpu and memory resources are mutable at pod-level')]),
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

interface ContainerList {
  readonly at: string;
  /** What is said of a change of anything else, and where. */
  readonly immutable: (here: string) => Cause;
  /** What is wrong with the change of this one. */
  readonly refuse?: (container: V1Container, here: string) => readonly Cause[];
}

const mainContainers: ContainerList = {
  at: 'spec.containers',
  immutable: () => forbiddenField('spec', 'only cpu and memory resources are mutable'),
};

const initContainers: ContainerList = {
  at: 'spec.initContainers',
  immutable: (here) =>
    forbiddenField(here, 'only cpu and memory resources for init or sidecar containers are mutable'),
  // It would have to begin again, and one that ends is not begun again.
  refuse: ({ restartPolicy, resizePolicy = [] }, here) =>
    restartPolicy !== 'Always' && resizePolicy.some((policy) => policy.restartPolicy === 'RestartContainer')
      ? [
          forbiddenField(
            here,
            'non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
          ),
        ]
      : [],
};

function containers(
  next: readonly V1Container[] = [],
  old: readonly V1Container[] = [],
  { at, immutable, refuse = () => [] }: ContainerList,
): Cause[] {
  return next.flatMap((container, index) => {
    const before = old[index];
    const here = `${at}[${index}]`;
    if (before === undefined || sameMeaning('V1Container', container, before)) return [];
    return [
      ...removed(container, before, 'limits', `${here}.resources`),
      ...removed(container, before, 'requests', `${here}.resources`),
      ...(sameMeaning('V1Container', others(container), others(before)) ? [] : [immutable(here)]),
      ...refuse(container, here),
    ];
  });
}

function removed(next: V1Container, old: V1Container, list: 'limits' | 'requests', at: string): Cause[] {
  return isRemoved(next, old, list)
    ? [forbiddenField(`${at}.${list}`, `resource ${list} cannot be removed`)]
    : [];
}

function isRemoved(
  { resources = {} }: V1Container,
  { resources: before = {} }: V1Container,
  list: 'limits' | 'requests',
): boolean {
  return RESIZABLE.some(
    (name) => before[list]?.[name] !== undefined && resources[list]?.[name] === undefined,
  );
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
