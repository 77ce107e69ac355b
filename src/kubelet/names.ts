// The labels and annotations by which a restarted kubelet knows its sandboxes and containers again. Pure.
// Guarantees: written and read only here; names are Kubernetes', so tools such as crictl and nerdctl show them.
import type { V1Container, V1EphemeralContainer, V1PodSpec } from '../api/gen/types.js';
import { goText } from '../api/goForm.js';
import type { ContainerStatus, StringMap } from '../cri/runtime.js';
import type { Pod } from './ports.js';

export const POD_NAME = 'io.kubernetes.pod.name';
export const POD_NAMESPACE = 'io.kubernetes.pod.namespace';
export const POD_UID = 'io.kubernetes.pod.uid';
export const CONTAINER_NAME = 'io.kubernetes.container.name';

const HASH = 'io.kubernetes.container.hash';
const RESTART_COUNT = 'io.kubernetes.container.restartCount';
const MESSAGE_PATH = 'io.kubernetes.container.terminationMessagePath';
const MESSAGE_POLICY = 'io.kubernetes.container.terminationMessagePolicy';
const POD_GRACE = 'io.kubernetes.pod.terminationGracePeriod';
const PRE_STOP = 'io.kubernetes.container.preStopHandler';
const PORTS = 'io.kubernetes.container.ports';

export const CONFIG_SOURCE = 'kubernetes.io/config.source';
export const CONFIG_HASH = 'kubernetes.io/config.hash';
export const CONFIG_SEEN = 'kubernetes.io/config.seen';
export const CONFIG_MIRROR = 'kubernetes.io/config.mirror';

export function podLabels(pod: Pod): StringMap {
  const { name, namespace, uid, labels } = pod.metadata;
  return { ...labels, [POD_NAME]: name, [POD_NAMESPACE]: namespace ?? 'default', [POD_UID]: uid };
}

export function containerLabels(pod: Pod, container: V1Container): StringMap {
  const { name, namespace, uid } = pod.metadata;
  return {
    [POD_NAME]: name,
    [POD_NAMESPACE]: namespace ?? 'default',
    [POD_UID]: uid,
    [CONTAINER_NAME]: container.name,
  };
}

export function containerAnnotations(pod: Pod, container: V1Container, restartCount: number): StringMap {
  const preStop = container.lifecycle?.preStop;
  const ports = container.ports ?? [];
  return {
    [HASH]: containerHash(container),
    [RESTART_COUNT]: String(restartCount),
    [MESSAGE_PATH]: container.terminationMessagePath ?? '/dev/termination-log',
    [MESSAGE_POLICY]: container.terminationMessagePolicy ?? 'File',
    [POD_GRACE]: String(pod.spec.terminationGracePeriodSeconds ?? 30),
    ...(preStop === undefined ? {} : { [PRE_STOP]: JSON.stringify(preStop) }),
    ...(ports.length === 0 ? {} : { [PORTS]: JSON.stringify(ports) }),
  };
}

export const hashOf = ({ annotations }: Pick<ContainerStatus, 'annotations'>) => annotations[HASH];
export const terminationMessagePath = ({ annotations }: ContainerStatus) => annotations[MESSAGE_PATH];
export const terminationMessagePolicy = ({ annotations }: ContainerStatus) => annotations[MESSAGE_POLICY];

export function restartCountOf(status: Pick<ContainerStatus, 'annotations' | 'metadata'>): number {
  const count = Number(status.annotations[RESTART_COUNT]);
  return Number.isInteger(count) && count >= 0 ? count : status.metadata.attempt;
}

/** For a pod that only the runtime still knows. */
export function graceSecondsOf({ annotations }: Pick<ContainerStatus, 'annotations'>): number {
  const grace = Number(annotations[POD_GRACE]);
  return Number.isInteger(grace) && grace >= 0 ? grace : 30;
}

/**
 * Covers what cannot change under a running container: its name and image. Byte for byte that of Kubernetes' kubelet, so that either
 * takes over what the other started: 32-bit FNV-1a, in hex, of how Go prints the bytes of their JSON.
 */
export function containerHash({ name, image }: Pick<V1Container, 'name' | 'image'>): string {
  const bytes = new TextEncoder().encode(goText({ image: image ?? '', name }));
  return fnv32a(`([]uint8)[${bytes.join(' ')}]`);
}

function fnv32a(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16);
}

export function isStatic(pod: Pick<Pod, 'metadata'>): boolean {
  const source = pod.metadata.annotations?.[CONFIG_SOURCE];
  return source !== undefined && source !== 'api';
}

export function isMirror(pod: Pick<Pod, 'metadata'>): boolean {
  return pod.metadata.annotations?.[CONFIG_MIRROR] !== undefined;
}

/** `name_namespace(uid)`, as messages name a pod. */
export function podText({ metadata }: Pick<Pod, 'metadata'>): string {
  return `${metadata.name}_${metadata.namespace ?? 'default'}(${metadata.uid})`;
}

/** All containers of a pod in the order in which they come up, then those that were put into it for debugging. */
export function allContainers(pod: Pick<Pod, 'spec'>): readonly V1Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers, ...ephemeralContainers(pod)];
}

/** Run once at most, and never keep a pod alive. */
export function ephemeralContainers({ spec }: Pick<Pod, 'spec'>): readonly V1EphemeralContainer[] {
  return spec.ephemeralContainers ?? [];
}

/** What the first of the container's rules that speaks of this code says: `Restart`, `RestartAllContainers`. */
export function ruleAfter({ restartPolicyRules = [] }: V1Container, exitCode: number): string | undefined {
  return restartPolicyRules.find(({ exitCodes }) => {
    const isListed = exitCodes?.values?.includes(exitCode) === true;
    return exitCodes !== undefined && isListed === (exitCodes.operator === 'In');
  })?.action;
}

/** Whether a run that ended with this code is followed by another: the container's rules, its policy, its pod's. */
export function restartsAfter(spec: V1PodSpec, container: V1Container, exitCode: number): boolean {
  if (ruleAfter(container, exitCode) !== undefined) return true;
  const policy = container.restartPolicy ?? spec.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** A sidecar: an init container that stays. */
export const isRestartable = (container: V1Container) => container.restartPolicy === 'Always';
