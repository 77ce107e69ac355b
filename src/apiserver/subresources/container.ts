// Which container of a pod a request means. Pure.
// Guarantees: with one container it need not be named; otherwise the refusal lists the choices.
import type { V1Pod } from '../../api/gen/types.js';
import { statusError } from '../../api/status.js';

const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

export function containerOf(pod: V1Pod, wanted: string): string {
  const name = pod.metadata?.name ?? '';
  const containers = (pod.spec?.containers ?? []).map((container) => container.name);
  const init = (pod.spec?.initContainers ?? []).map((container) => container.name);
  const ephemeral = (pod.spec?.ephemeralContainers ?? []).map((container) => container.name);
  if (wanted !== '') {
    if ([...containers, ...init, ...ephemeral].includes(wanted)) return wanted;
    throw statusError('BadRequest', `container ${wanted} is not valid for pod ${name}`);
  }
  const [only, ...others] = containers;
  if (only !== undefined && others.length === 0) return only;
  const preferred = pod.metadata?.annotations?.[DEFAULT_CONTAINER] ?? '';
  if (containers.includes(preferred)) return preferred;
  const also = init.length === 0 ? '' : ` or one of the init containers: [${init.join(' ')}]`;
  const choice = `choose one of: [${containers.join(' ')}]${also}`;
  throw statusError('BadRequest', `a container name must be specified for pod ${name}, ${choice}`);
}
