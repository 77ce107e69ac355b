// What a custom kind prints and what selectors may ask of it: the paths that its definition gives. Pure.
// Guarantees: a value that is not there, or not of the column's type, is an empty cell.
import { nameColumn } from '../columns.js';
import { ageOf } from '../duration.js';
import type { V1CustomResourceDefinitionVersion } from '../gen/types.js';
import type { Column, KindDefinition } from '../kind.js';
import type { KubeObject } from '../object.js';
import { type JsonPath, parseJsonPath, printed } from './jsonPath.js';

type Version = V1CustomResourceDefinitionVersion;

/** Selectors name fields as their path, without the dot before it. */
export function fieldsOf(paths: readonly string[]): NonNullable<KindDefinition['fields']> {
  const compiled = paths.map((path) => [path.replace(/^\./, ''), parseJsonPath(path)] as const);
  return (object) =>
    Object.fromEntries(
      compiled.map(([name, path]) => {
        const [value] = path.find(object);
        return [name, value === undefined || value === null ? '' : printed(value)];
      }),
    );
}

const AGE = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'How long ago the object was created.',
};

export function columnsOf({
  additionalPrinterColumns: columns = [AGE],
}: Version): readonly Column<KubeObject>[] {
  return [
    nameColumn,
    ...columns.map((column): Column<KubeObject> => {
      const { name, type, jsonPath, description } = column;
      const { format = '', priority = 0 } = column as { format?: string; priority?: number };
      const path = parseJsonPath(jsonPath);
      return {
        name,
        type: type === 'integer' || type === 'date' ? type : 'string',
        shownType: type,
        format,
        description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
        priority: priority as 0 | 1,
        cell: (object, now) => cellOf(type, path, object, now),
      };
    }),
  ];
}

/** RFC 3339: other texts that Date would read are no times. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/;

function cellOf(
  type: string,
  path: JsonPath,
  object: KubeObject,
  now: number,
): string | number | boolean | null {
  const [value] = path.find(object);
  // A text that is null is printed as Go's templates print nothing.
  if (value === null && type === 'string') return '<no value>';
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'string':
      return printed(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      if (typeof value !== 'string') return null;
      return TIME.test(value) && !Number.isNaN(Date.parse(value)) ? ageOf(value, now) : '<invalid>';
  }
}
