// What a container finds around it: its variables and its mounts.
// Guarantees: computed afresh for each start; nothing is kept but what the pod's directory holds.
import type { V1Service } from '../../api/gen/types.js';
import type { Informer } from '../../client/informer.js';
import { KubeletError } from '../error.js';
import { isStatic } from '../names.js';
import type { ContainerDependencies, ContainerEnvironment, Pod } from '../ports.js';
import type { ImageProblem } from '../volumes/imageVolume.js';
import type { PodObjects } from '../volumes/objects.js';
import { readInside } from '../volumes/subPath.js';
import { containerMounts } from './mounts.js';
import type { Resources } from './resourceField.js';
import { serviceVariables } from './services.js';
import { containerVariables } from './variables.js';

/** What Kubernetes takes of a file of variables. */
const MAX_ENV_FILE = 64 * 1024;

interface ContainerEnvironmentOptions {
  readonly rootDir: string;
  readonly clusterDomain: string;
  /** Shared with the volumes, so that one pod asks once. */
  readonly objects: PodObjects;
  /** All services; left out where there is no apiserver. */
  readonly services?: Informer<V1Service>;
  readonly hostIps: () => readonly string[];
  /** What a container without limits may use. */
  readonly allocatable: () => Resources;
  /** The runtime can make a mount of this pod read-only with all below it. */
  readonly canRecurse?: (pod: Pod) => boolean;
  /** Why the runtime cannot mount images; undefined when it can. */
  readonly imageProblem?: ImageProblem | undefined;
  /** For the event InvalidEnvironmentVariableNames. */
  readonly onSkipped?: (pod: Pod, message: string) => void;
}

export function makeContainerEnvironment(options: ContainerEnvironmentOptions): ContainerEnvironment {
  const { rootDir, clusterDomain, objects, services, hostIps, allocatable, onSkipped } = options;

  /** A pod of the apiserver waits for the first list, lest its first start know fewer services than the next. */
  function servicesFor(pod: Pod): ReadonlyMap<string, string> {
    if (services === undefined) return new Map();
    if (!services.hasSynced() && !isStatic(pod)) {
      const words = 'services have not yet been read at least once, cannot construct envvars';
      throw new KubeletError('CreateContainerConfigError', words);
    }
    const { metadata, spec } = pod;
    return serviceVariables(services.list(), {
      namespace: metadata.namespace ?? '',
      links: spec.enableServiceLinks ?? true,
    });
  }

  const variablesOf = ({ pod, container, podIps, volumes }: ContainerDependencies) =>
    containerVariables(pod, container, {
      objects,
      services: servicesFor(pod),
      addresses: { podIps: pod.spec.hostNetwork === true ? hostIps() : podIps, hostIps: hostIps() },
      allocatable: allocatable(),
      volumeFile: async (volume, file) => {
        const base = volumes.get(volume);
        if (base !== undefined) return readInside(base, file, MAX_ENV_FILE);
        const words = `cannot find the volume "${volume}" referenced by FileKeyRef`;
        throw new KubeletError('CreateContainerConfigError', words);
      },
      skipped: (message) => onSkipped?.(pod, message),
    });

  return {
    async variables(around) {
      return [...(await variablesOf(around))].map(([key, value]) => ({ key, value }));
    },
    mounts: (around) =>
      containerMounts({
        rootDir,
        clusterDomain,
        ...around,
        canRecurse: options.canRecurse?.(around.pod) ?? false,
        imageProblem: options.imageProblem,
        variables: () => variablesOf(around),
      }),
  };
}
