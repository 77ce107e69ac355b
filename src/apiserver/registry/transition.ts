// What a change means to one watcher: entering, staying in or leaving its selection. Pure.

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

interface Transition {
  readonly before: boolean;
  readonly after: boolean;
  readonly deleted: boolean;
}

/** Undefined when the watcher need not hear of it. */
export function transition({ before, after, deleted }: Transition): WatchEventType | undefined {
  const now = after && !deleted;
  if (before) return now ? 'MODIFIED' : 'DELETED';
  return now ? 'ADDED' : undefined;
}
