// The columns that many kinds print, and a short way to declare the others. Pure.
// Guarantees: every table begins with the object's name; what is absent prints as <none>.
import { ageOf } from './duration.js';
import type { Column } from './kind.js';
import type { KubeObject } from './object.js';

interface ColumnOptions<T> {
  readonly description: string;
  readonly type?: Column<T>['type'];
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
}

export function column<T>(name: string, cell: Column<T>['cell'], options: ColumnOptions<T>): Column<T> {
  const { description, type = 'string', wide = false } = options;
  return { name, type, description, priority: wide ? 1 : 0, cell };
}

export const nameColumn: Column<KubeObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'The name of the object, unique among its kind in a namespace.',
  priority: 0,
  cell: (object) => object.metadata?.name ?? '',
};

export const ageColumn: Column<KubeObject> = {
  name: 'Age',
  type: 'string',
  description: 'How long ago the object was created.',
  priority: 0,
  cell: (object, now) => ageOf(object.metadata?.creationTimestamp, now),
};

/** The RBAC kinds print a date that kubectl does not shorten. */
export const createdAtColumn: Column<KubeObject> = {
  name: 'Created At',
  type: 'date',
  description: 'When the object was created.',
  priority: 0,
  cell: (object) => object.metadata?.creationTimestamp ?? '',
};

export const orNone = (text: string | undefined): string => (text ? text : '<none>');
