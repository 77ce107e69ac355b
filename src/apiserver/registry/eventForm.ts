// How a client sees the events of a watch: as bytes, or, in this process, as objects.
// Guarantees: bytes of one form are made once for all its watchers; an object is frozen and shared, and the same as its bytes
// say, but for managedFields.
import type { KubeObject, Stored } from '../../api/object.js';
import { deepFreeze } from '../../client/freeze.js';
import type { CachedObject } from './cached.js';
import { withinLine } from './encode.js';
import { frames } from './frames.js';
import type { WatchEventType } from './transition.js';
import type { WatchedEvent } from './watchStream.js';

export type EventType = WatchEventType | 'BOOKMARK' | 'ERROR';

export interface EventForm {
  /** All that the bytes of an event depend on, beside its type and object: watchers of one form share them. */
  readonly name: string;
  /** An object as it is shown, without the end of the line. Undefined for objects as they are stored. */
  readonly encode?: ((object: Buffer, at: Shown) => Buffer) | undefined;
  /** As `encode`, of a bookmark; undefined for bookmarks that are sent as they are. */
  readonly encodeBookmark?: ((object: Buffer, at: Shown) => Buffer) | undefined;
  /** True when `encode` looks at what it is told. */
  readonly isVaried?: boolean;
  /** The bytes of an event, of its type and its object's JSON. */
  readonly frame: (type: EventType, object: Buffer) => Buffer;
  /** As `encode`, of an object that others share; undefined for forms that are only bytes. */
  readonly show?: ((object: Stored<KubeObject>) => object) | undefined;
}

export interface Shown {
  readonly timeMs: number;
  /** True for the first event of a watch. */
  readonly isFirst: boolean;
}

/** A change, as it is told. */
export interface ShownEvent {
  readonly type: WatchEventType;
  /** What its bytes are made of, and known by. */
  readonly object: CachedObject;
  readonly timeMs: number;
  /** Set when the object left the selection: it is shown at the revision of that change. */
  readonly leftAt?: number;
}

/** What the server itself says. */
export interface OwnEvent {
  readonly type: 'BOOKMARK' | 'ERROR';
  readonly value: object;
}

const HEADS: Readonly<Record<EventType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
  BOOKMARK: Buffer.from('{"type":"BOOKMARK","object":'),
  ERROR: Buffer.from('{"type":"ERROR","object":'),
};
const TAIL = Buffer.from('}\n');

/** An event as a line of JSON. */
export function lineFrame(type: EventType, object: Buffer): Buffer {
  return Buffer.concat([HEADS[type], withinLine(object), TAIL]);
}

export function frameOfEvent(form: EventForm, { type, object, leftAt }: ShownEvent, shown: Shown): Buffer {
  const { name, encode, isVaried, frame } = form;
  const varied = isVaried ? `${shown.timeMs} ${shown.isFirst}` : '';
  const { bytes } = object;
  return frames.of(bytes, `${name} ${type} ${leftAt ?? ''} ${varied}`, () => {
    const json = leftAt === undefined ? bytes : Buffer.from(JSON.stringify(leaving(object.parse(), leftAt)));
    return frame(type, encode === undefined ? json : encode(json, shown));
  });
}

export function frameOfOwn({ frame, encodeBookmark }: EventForm, { type, value }: OwnEvent, shown: Shown) {
  const json = Buffer.from(JSON.stringify(value));
  return frame(type, type === 'BOOKMARK' ? (encodeBookmark?.(json, shown) ?? json) : json);
}

export function objectOfEvent({ show }: EventForm, { type, object, leftAt }: ShownEvent): WatchedEvent {
  const held = object.shared();
  const told = leftAt === undefined ? held : leaving(held, leftAt);
  return { type, object: deepFreeze(show === undefined ? told : show(told)) };
}

/** The last version that matched, at the revision of the change that made it leave, so that a resume goes on from there. */
function leaving<T extends KubeObject>(last: T, revision: number): T {
  return { ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } };
}
