// Objects as the rows that kubectl prints, or as their metadata alone. Pure.
// Guarantees: a cell that cannot be computed is shown as <unknown>; it never fails the whole answer.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { statusError } from '../../api/status.js';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

interface TableOptions {
  readonly version: string;
  readonly include: IncludeObject;
  readonly now: number;
}

/** All that a table needs of a kind; subresources of another shape have columns of their own. */
type Columns = Pick<KindDefinition, 'columns'>;

export function columnDefinitions(kind: Columns) {
  return kind.columns.map(({ name, type, shownType, format, description, priority }) => ({
    name,
    type: shownType ?? (type === 'date' ? 'string' : type),
    format: format ?? (name === 'Name' ? 'name' : ''),
    description,
    priority,
  }));
}

export function tableRow(kind: Columns, object: KubeObject, options: TableOptions) {
  const cells = kind.columns.map((column) => {
    try {
      return column.cell(object, options.now);
    } catch {
      return '<unknown>'; // an object that an older version let in may lack what the column reads
    }
  });
  if (options.include === 'None') return { cells, object: null };
  return { cells, object: options.include === 'Object' ? object : partialMetadata(object, options.version) };
}

export function table(
  kind: Columns,
  objects: readonly KubeObject[],
  metadata: object,
  options: TableOptions,
) {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: columnDefinitions(kind),
    rows: objects.map((object) => tableRow(kind, object, options)),
  };
}

export function partialMetadata(object: KubeObject, version: string) {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: object.metadata ?? {},
  };
}

export function tableOptions(query: URLSearchParams, version: string, now: number): TableOptions {
  const include = query.get('includeObject') ?? 'Metadata';
  if (include !== 'None' && include !== 'Metadata' && include !== 'Object') {
    throw statusError('BadRequest', `unrecognized includeObject value: ${JSON.stringify(include)}`);
  }
  return { version, include: include as IncludeObject, now };
}
