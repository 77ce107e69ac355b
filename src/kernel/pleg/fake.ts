// The generator in plain TypeScript, for tests of what is built on it: the same bytes in, the same events out.
// Guarantees: passes the contract of the native one.
import type { ChangedPod, PlegPort, PodLifecycleEvent, PodLifecycleEventType } from './port.js';
import { fields, integer, message, refuse, text } from './wire.js';

type State = 'running' | 'exited' | 'unknown';
/** By pod, then by id of container or sandbox. */
type Listing = ReadonlyMap<string, ReadonlyMap<string, State>>;

const POD_UID_LABEL = 'io.kubernetes.pod.uid';
const ITEMS = 1;
const EVENT_OF: Record<State, PodLifecycleEventType> = {
  running: 'ContainerStarted',
  exited: 'ContainerDied',
  unknown: 'ContainerChanged',
};

const items = (bytes: Uint8Array): Uint8Array[] =>
  [...fields(bytes)].filter(({ number }) => number === ITEMS).map(message);

function readSandbox(bytes: Uint8Array) {
  let [id, podUid, state] = ['', '', 0];
  for (const field of fields(bytes)) {
    if (field.number === 1) id = text(field);
    if (field.number === 3) state = integer(field);
    if (field.number === 2)
      for (const part of fields(message(field))) if (part.number === 2) podUid = text(part);
  }
  if (id === '') refuse('a sandbox has no id');
  return { id, podUid, state: state === 0 ? ('running' as const) : ('exited' as const) };
}

function readContainer(bytes: Uint8Array) {
  let [id, sandboxId, label, state] = ['', '', '', 0];
  for (const field of fields(bytes)) {
    if (field.number === 1) id = text(field);
    if (field.number === 2) sandboxId = text(field);
    if (field.number === 6) state = integer(field);
    if (field.number !== 8) continue;
    const entry = new Map([...fields(message(field))].map((part) => [part.number, text(part)]));
    if (entry.get(1) === POD_UID_LABEL) label = entry.get(2) ?? '';
  }
  if (id === '') refuse('a container has no id');
  const states: Record<number, State> = { 1: 'running', 2: 'exited' };
  return { id, sandboxId, label, state: states[state] ?? 'unknown' };
}

function readListing(sandboxes: Uint8Array, containers: Uint8Array): Listing {
  const listing = new Map<string, Map<string, State>>();
  const add = (podUid: string, id: string, state: State) => {
    if (podUid === '') return;
    const pod = listing.get(podUid) ?? new Map<string, State>();
    if (!pod.has(id)) listing.set(podUid, pod.set(id, state));
  };
  const podOf = new Map<string, string>();
  for (const { id, podUid, state } of items(sandboxes).map(readSandbox)) {
    podOf.set(id, podUid);
    add(podUid, id, state);
  }
  for (const { id, sandboxId, label, state } of items(containers).map(readContainer))
    add(podOf.get(sandboxId) ?? label, id, state);
  return listing;
}

function eventsOf(id: string, before: State | undefined, now: State | undefined): PodLifecycleEvent[] {
  if (before === now) return [];
  if (now !== undefined) return [{ type: EVENT_OF[now], id }];
  const removed = { type: 'ContainerRemoved', id } as const;
  return before === 'exited' ? [removed] : [{ type: 'ContainerDied', id }, removed];
}

const sortedKeys = (...maps: (ReadonlyMap<string, unknown> | undefined)[]): string[] =>
  [...new Set(maps.flatMap((map) => [...(map?.keys() ?? [])]))].sort();

function computeEvents(old: Listing, now: Listing): ChangedPod[] {
  return sortedKeys(old, now)
    .map((podUid) => {
      const [before, after] = [old.get(podUid), now.get(podUid)];
      const events = sortedKeys(before, after).flatMap((id) => eventsOf(id, before?.get(id), after?.get(id)));
      return { podUid, events };
    })
    .filter(({ events }) => events.length > 0);
}

export class FakePleg implements PlegPort {
  #record: Listing = new Map();
  #pending: Listing | undefined;

  async relist(sandboxes: Uint8Array, containers: Uint8Array) {
    const now = readListing(sandboxes, containers);
    this.#pending = now;
    return {
      changed: computeEvents(this.#record, now),
      commit: () => {
        if (this.#pending === now) this.#record = now;
      },
    };
  }

  pods = (): string[] => sortedKeys(this.#record);
}
