// Checks of containers that were put into a running pod to look around. Pure.
// Guarantees: they have nothing that promises something of the pod: no ports, probes, hooks or resources.
import { type Cause, forbiddenField, notFoundValue } from '../../causes.js';
import type { V1EphemeralContainer, V1PodSpec } from '../../gen/types.js';

const FORBIDDEN = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
  'restartPolicy',
] as const;
const WHY = 'cannot be set for an Ephemeral Container';

export function validateEphemeralContainers(spec: V1PodSpec, at: string): Cause[] {
  const { ephemeralContainers = [], containers = [], initContainers = [] } = spec;
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  return ephemeralContainers.flatMap((container, index) => {
    const here = `${at}[${index}]`;
    const { targetContainerName: target } = container;
    return [
      ...validateFields(container, here),
      ...(target && !names.has(target) ? [notFoundValue(`${here}.targetContainerName`, target)] : []),
    ];
  });
}

function validateFields(container: V1EphemeralContainer, at: string): Cause[] {
  const causes = FORBIDDEN.filter((field) => isSet(container[field])).map((field) =>
    forbiddenField(`${at}.${field}`, WHY),
  );
  if (Object.values(container.resources ?? {}).some(isSet))
    causes.push(forbiddenField(`${at}.resources`, WHY));
  for (const [index, mount] of (container.volumeMounts ?? []).entries())
    for (const field of ['subPath', 'subPathExpr'] as const)
      if (mount[field]) causes.push(forbiddenField(`${at}.volumeMounts[${index}].${field}`, WHY));
  return causes;
}

/** Empty lists and maps are as good as none. */
const isSet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined;
