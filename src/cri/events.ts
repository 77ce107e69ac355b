// What a runtime tells of its containers by itself: CRI's stream of events, or containerd's own where CRI's is missing.
// Guarantees: one stream at a time; UNIMPLEMENTED only when the runtime has neither.
import type { Connection } from './connection.js';
import { type RawContainerEvent, toContainerEvent } from './decode.js';
import { CriError } from './error.js';
import type { ContainerEvent } from './runtime.js';

interface RawEnvelope {
  readonly topic: string;
  readonly event: { readonly value: { readonly containerId: string } | null } | null;
}

/**
 * containerd before 1.7. A task is deleted when CRI has taken note of its end; the end itself would come earlier than
 * anybody can be asked about it.
 */
const TYPE_OF_TOPIC: Readonly<Record<string, ContainerEvent['type']>> = {
  '/containers/create': 'CONTAINER_CREATED_EVENT',
  '/tasks/start': 'CONTAINER_STARTED_EVENT',
  '/tasks/delete': 'CONTAINER_STOPPED_EVENT',
  '/containers/delete': 'CONTAINER_DELETED_EVENT',
};
/** The namespace that containerd keeps what CRI makes in. */
const FILTERS = Object.keys(TYPE_OF_TOPIC).map((topic) => `namespace=="k8s.io",topic=="${topic}"`);

export async function followEvents(
  connection: Connection,
  heard: (event: ContainerEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const tell = (event: ContainerEvent | undefined) => {
    if (event !== undefined) heard(event);
  };
  const ofCri = (raw: RawContainerEvent) => tell(toContainerEvent(raw));
  const ofContainerd = (raw: RawEnvelope) => tell(toEvent(raw));
  try {
    await connection.stream('RuntimeService', 'GetContainerEvents', {}, ofCri, { signal });
  } catch (missing) {
    if (!isUnimplemented(missing)) throw missing;
    try {
      await connection.stream('Events', 'Subscribe', { filters: FILTERS }, ofContainerd, { signal });
    } catch (error) {
      throw isUnimplemented(error) ? missing : error;
    }
  }
}

function toEvent({ topic, event }: RawEnvelope): ContainerEvent | undefined {
  const type = TYPE_OF_TOPIC[topic];
  const containerId = event?.value?.containerId ?? '';
  return type === undefined || containerId === '' ? undefined : { containerId, type };
}

const isUnimplemented = (error: unknown) => error instanceof CriError && error.code === 'UNIMPLEMENTED';
