// Events in the words of events.k8s.io: the same objects, other names for their fields. Pure.
// Guarantees: nothing is lost on the way there and back.
import type { CoreV1Event, EventsV1Event } from '../gen/types.js';
import type { Draft, KindVersion } from '../kind.js';
import { GROUPED_EVENTS } from '../resources.js';

/** Their name in this form, and in the stored one. */
const NAMES = [
  ['note', 'message'],
  ['regarding', 'involvedObject'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedCount', 'count'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedSource', 'source'],
] as const;

const REGARDING = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

export const groupedEvents: KindVersion<CoreV1Event> = {
  type: GROUPED_EVENTS,
  model: 'EventsV1Event',
  toStored(draft) {
    const stored = renamed(draft, ([shown, kept]) => [shown, kept]);
    return { ...stored, apiVersion: 'v1' } as Draft<CoreV1Event>;
  },
  fromStored(event): EventsV1Event {
    const shown = renamed(event, ([name, kept]) => [kept, name]);
    // This form has the time always, be it unknown.
    return { eventTime: null, ...shown, apiVersion: 'events.k8s.io/v1' } as unknown as EventsV1Event;
  },
  fieldNames: {
    reportingController: 'reportingComponent',
    ...Object.fromEntries(REGARDING.map((field) => [`regarding.${field}`, `involvedObject.${field}`])),
  },
};

function renamed(
  event: object,
  direction: (pair: (typeof NAMES)[number]) => readonly [from: string, to: string],
): Record<string, unknown> {
  const names = new Map(NAMES.map(direction));
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [names.get(name) ?? name, value]));
}
