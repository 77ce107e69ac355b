// Event: something that happened to an object, told once and counted after. Pure.
// Guarantees: an event lives in the namespace of what it is about.
import { invalidValue } from '../causes.js';
import { column } from '../columns.js';
import { ageOf } from '../duration.js';
import type { CoreV1Event } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { EVENTS } from '../resources.js';
import { groupedEvents } from './eventVersions.js';

export const eventKind: KindDefinition<CoreV1Event> = {
  type: EVENTS,
  createdByUpdate: true,
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  model: 'CoreV1Event',
  hasStatus: false,
  versions: [groupedEvents],
  hasGeneration: false,
  isSeldomRead: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.involvedObject ??= {};
  },
  validate({ metadata, involvedObject }) {
    const { namespace = '' } = involvedObject;
    // What lives outside namespaces tells its events in default.
    const isFitting =
      namespace === metadata?.namespace ||
      (namespace === '' && ['default', 'kube-system'].includes(metadata?.namespace ?? ''));
    return isFitting
      ? []
      : [invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace')];
  },
  columns: [
    column('Last Seen', lastSeen, { description: 'How long ago it happened last, and how often.' }),
    column('Type', ({ type }) => type ?? '', { description: 'Normal or Warning.' }),
    column('Reason', ({ reason }) => reason ?? '', { description: 'Why it happened, in one word.' }),
    column('Object', objectCell, { description: 'What it happened to.' }),
    column('Subobject', ({ involvedObject }) => involvedObject.fieldPath ?? '', {
      description: 'The part of the object.',
      wide: true,
    }),
    column('Source', sourceCell, { description: 'Who tells it.', wide: true }),
    column('Message', ({ message }) => (message ?? '').trim(), {
      description: 'What happened, in a sentence.',
    }),
    column('First Seen', (event, now) => ageOf(firstTime(event), now), {
      description: 'How long ago it happened first.',
      wide: true,
    }),
    column('Count', ({ series, count }) => series?.count ?? (count || 1), {
      description: 'How often it happened.',
      wide: true,
    }),
    column('Name', ({ metadata }) => metadata.name ?? '', {
      description: 'The name of the event.',
      wide: true,
    }),
  ],
  fields: ({ involvedObject: object, reason, type, source, reportingComponent }) => ({
    'involvedObject.kind': object?.kind ?? '',
    'involvedObject.namespace': object?.namespace ?? '',
    'involvedObject.name': object?.name ?? '',
    'involvedObject.uid': object?.uid ?? '',
    'involvedObject.apiVersion': object?.apiVersion ?? '',
    'involvedObject.resourceVersion': object?.resourceVersion ?? '',
    'involvedObject.fieldPath': object?.fieldPath ?? '',
    reason: reason ?? '',
    reportingComponent: reportingComponent ?? '',
    source: source?.component || reportingComponent || '',
    type: type ?? '',
  }),
};

const firstTime = ({ firstTimestamp, eventTime }: CoreV1Event) => firstTimestamp ?? eventTime;

function lastSeen(event: CoreV1Event, now: number): string {
  const { series, lastTimestamp, count = 1 } = event;
  const last = ageOf(series?.lastObservedTime ?? lastTimestamp ?? firstTime(event), now);
  const times = series?.count ?? count;
  return times > 1 ? `${last} (x${times} over ${ageOf(firstTime(event), now)})` : last;
}

function objectCell({ involvedObject: { kind = '', name = '' } }: CoreV1Event): string {
  return `${kind.toLowerCase()}/${name}`;
}

function sourceCell({ source, reportingComponent, reportingInstance }: CoreV1Event): string {
  const component = source?.component || reportingComponent || '';
  const host = source?.host || reportingInstance || '';
  return host === '' ? component : `${component}, ${host}`;
}
