// What a pod holds of its node while its resources are being changed: the most of what it asks for and what it has. Pure.
// Guarantees: a pod that is not being resized is answered as it is, the very same spec.
import type {
  V1Container,
  V1ContainerStatus,
  V1Pod,
  V1PodSpec,
  V1ResourceRequirements,
} from '../../gen/types.js';
import { compareQuantities } from '../../quantity.js';

type Amounts = Readonly<Record<string, string>> | undefined;

/** The spec as whoever counts resources must read it until the kubelet has done what was asked. */
export function heldSpec({ spec, status }: Pick<V1Pod, 'spec' | 'status'>): V1PodSpec {
  if (spec === undefined) return { containers: [] };
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  if (containerStatuses.length === 0 && initContainerStatuses.length === 0) return spec;
  const inits = spec.initContainers ?? [];
  const once = new Set(
    inits.flatMap(({ name, restartPolicy }) => (restartPolicy === 'Always' ? [] : [name])),
  );
  // What the node can never give is not counted: the pod keeps what it has.
  const isRefused = (status?.conditions ?? []).some(
    ({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible',
  );
  // An init container that has done its work holds nothing, and nobody will change what it had.
  const isOver = ({ name, state }: V1ContainerStatus) => state?.terminated?.exitCode === 0 && once.has(name);
  const each = (list: readonly V1Container[], statuses: readonly V1ContainerStatus[]) => {
    const held = list.map((container) => {
      const found = statuses.find(({ name }) => name === container.name);
      return found === undefined || isOver(found) ? container : withHeld(container, found, isRefused);
    });
    return held.every((container, index) => container === list[index]) ? list : held;
  };
  const containers = each(spec.containers, containerStatuses);
  const initContainers = each(inits, initContainerStatuses);
  const whole = withHeld(
    spec,
    { resources: status?.resources, allocatedResources: status?.allocatedResources },
    isRefused,
  );
  if (containers === spec.containers && initContainers === inits && whole === spec) return spec;
  return { ...whole, containers, ...(inits.length === 0 ? {} : { initContainers }) };
}

/** A container, or the pod as a whole where it asks for something as such. */
function withHeld<T extends { readonly resources?: V1ResourceRequirements | undefined }>(
  asking: T,
  { resources: given, allocatedResources }: Pick<V1ContainerStatus, 'resources' | 'allocatedResources'>,
  isRefused: boolean,
): T {
  const { resources } = asking;
  if (resources === undefined || given === undefined) return asking;
  const has = most(given.requests, allocatedResources);
  const requests = isRefused ? has : most(resources.requests, has);
  const limits = isRefused ? given.limits : most(resources.limits, given.limits);
  return isSame(requests, resources.requests) && isSame(limits, resources.limits)
    ? asking
    : { ...asking, resources: { ...resources, requests, limits } };
}

function most(left: Amounts, right: Amounts): Amounts {
  if (right === undefined || left === undefined) return left ?? right;
  const result: Record<string, string> = { ...left };
  for (const [name, amount] of Object.entries(right)) {
    const other = left[name];
    if (other === amount) continue;
    if (other === undefined || compareQuantities(amount, other) > 0) result[name] = amount;
  }
  return result;
}

function isSame(left: Amounts = {}, right: Amounts = {}): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}
