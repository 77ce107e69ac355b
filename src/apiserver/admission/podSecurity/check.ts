// What the checks of the pod security standards share: the pod they look at, and how they name what they found. Pure.
import type { V1Container, V1ObjectMeta, V1PodSpec, V1SecurityContext } from '../../../api/gen/types.js';

export interface CheckedPod {
  readonly metadata: Pick<V1ObjectMeta, 'annotations'>;
  readonly spec: V1PodSpec;
  /** Init containers first, then the others; ephemeral ones last. */
  readonly containers: readonly Pick<
    V1Container,
    'name' | 'securityContext' | 'ports' | 'livenessProbe' | 'readinessProbe' | 'startupProbe' | 'lifecycle'
  >[];
  /** The minor version of the policy; `latest` is the greatest. */
  readonly minor: number;
}

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface Check {
  readonly id: string;
  /** The checks of the lower level that this one includes. */
  readonly replaces?: string;
  find(pod: CheckedPod): Violation | undefined;
}

export const quoted = (names: Iterable<string>): string => [...names].map((name) => `"${name}"`).join(', ');

export const plural = (one: string, many: string, count: number): string => (count === 1 ? one : many);

/** `container "a"` or `containers "a", "b"`. */
export const containersNamed = (names: readonly string[]): string =>
  `${plural('container', 'containers', names.length)} ${quoted(names)}`;

/** The names of the containers whose security context is not as wanted. */
export function containersWhere(
  { containers }: CheckedPod,
  isBad: (context: V1SecurityContext) => boolean,
): readonly string[] {
  return containers.filter(({ securityContext }) => isBad(securityContext ?? {})).map(({ name }) => name);
}

/** Those that set it themselves: `pod`, then the containers. */
export function settersNamed(isPod: boolean, containers: readonly string[]): string {
  return [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [containersNamed(containers)] : [])].join(
    ' and ',
  );
}
