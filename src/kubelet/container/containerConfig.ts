// A container as CRI asks for it: command, environment, mounts, resources, labels. Pure.
// Guarantees: all that a restarted kubelet must know of the container is in its labels and annotations.
import type { V1Container } from '../../api/gen/types.js';
import type { ContainerConfig, IdMapping, Image, Mount } from '../../cri/runtime.js';
import { expand } from '../environment/expansion.js';
import { containerAnnotations, containerLabels } from '../names.js';
import type { Pod } from '../ports.js';
import { containerResources, type MachineLimits } from '../resources.js';
import { containerSecurity } from './security.js';

interface ContainerParts {
  readonly pod: Pod;
  readonly container: V1Container;
  /** Runs before this one. */
  readonly restartCount: number;
  readonly imageRef: string;
  readonly image: Pick<Image, 'uid' | 'username'> | undefined;
  readonly envs: readonly { readonly key: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
  readonly machine: MachineLimits;
  /** Where the node's own seccomp profiles lie. */
  readonly seccompRoot: string;
  /** Those that name none get the runtime's. */
  readonly seccompDefault?: boolean | undefined;
  /** Of a pod that has its own users. */
  readonly ids?: IdMapping | undefined;
  /** The container whose processes this one sees. */
  readonly targetId?: string | undefined;
}

export function containerConfig(parts: ContainerParts): ContainerConfig {
  const { pod, container, restartCount, envs } = parts;
  const values = new Map(envs.map(({ key, value }) => [key, value]));
  const expanded = (words: readonly string[] = []) =>
    words.map((word) => expand(word, (name) => values.get(name)));
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: parts.imageRef },
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    envs,
    mounts: parts.mounts.map((mount) => mapped(mount, parts.ids)),
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, restartCount),
    logPath: `${container.name}/${restartCount}.log`,
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    ...stopSignalOf(container),
    linux: {
      resources: containerResources(pod.spec, container, parts.machine),
      securityContext: withTarget(containerSecurity(pod, container, parts.image, parts), parts.targetId),
    },
  };
}

/** What belongs to the node's root belongs to the pod's inside. */
function mapped(mount: Mount, ids: IdMapping | undefined): Mount {
  return ids === undefined ? mount : { ...mount, uidMappings: [ids], gidMappings: [ids] };
}

/** CRI has its own spelling of the real-time signals. */
function stopSignalOf({ lifecycle }: V1Container): Pick<ContainerConfig, 'stopSignal'> {
  const signal = lifecycle?.stopSignal;
  return signal === undefined ? {} : { stopSignal: signal.replace('+', 'PLUS').replace('-', 'MINUS') };
}

type Security = ContainerConfig['linux']['securityContext'];

function withTarget(security: Security, targetId: string | undefined): Security {
  if (targetId === undefined) return security;
  return { ...security, namespaceOptions: { ...security.namespaceOptions, pid: 'TARGET', targetId } };
}
