// ConfigMap: plain data by key. Pure.
// Guarantees: keys can be file names; the whole fits in a megabyte; an immutable one stays as it is.
import { byteLength } from '../byteLength.js';
import { type Cause, checkName, forbiddenField, invalidValue, tooLong } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1ConfigMap } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { sameMeaning } from '../meaning.js';
import { configKey } from '../names.js';
import { CONFIG_MAPS } from '../resources.js';

/** Also the bound of a Secret's data. */
export const MAX_DATA_BYTES = 1024 * 1024;

export const configMapKind: KindDefinition<V1ConfigMap> = {
  type: CONFIG_MAPS,
  singular: 'configmap',
  shortNames: ['cm'],
  categories: [],
  model: 'V1ConfigMap',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  validate(object, old) {
    const { data = {}, binaryData = {} } = object;
    const causes: Cause[] = [];
    for (const key of Object.keys(data)) causes.push(...checkName(`data[${key}]`, key, configKey));
    for (const key of Object.keys(binaryData)) {
      causes.push(...checkName(`binaryData[${key}]`, key, configKey));
      if (Object.hasOwn(data, key))
        causes.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    }
    const size =
      Object.values(data).reduce((sum, value) => sum + byteLength(value), 0) +
      Object.values(binaryData).reduce((sum, value) => sum + base64Bytes(value), 0);
    if (size > MAX_DATA_BYTES) causes.push(tooLong('', MAX_DATA_BYTES));
    return [...causes, ...validateImmutable(object, old, ['data', 'binaryData'])];
  },
  columns: [
    nameColumn,
    column('Data', ({ data, binaryData }) => countOf(data) + countOf(binaryData), {
      type: 'string',
      description: 'How many keys it holds.',
    }),
    ageColumn,
  ],
};

export const base64Bytes = (text: string): number => Math.floor((text.replace(/=+$/, '').length * 3) / 4);

const countOf = (map: object | undefined) => Object.keys(map ?? {}).length;

/** What `immutable: true` forbids, for ConfigMaps and Secrets alike. */
export function validateImmutable<T extends { readonly immutable?: boolean | undefined }>(
  object: T,
  old: T | undefined,
  fields: readonly (keyof T & string)[],
): Cause[] {
  if (old?.immutable !== true) return [];
  const why = 'field is immutable when `immutable` is set';
  const changed = fields.filter((field) => !sameMeaning('{}s', object[field], old[field]));
  const causes = changed.map((field) => forbiddenField(field, why));
  return object.immutable === true ? causes : [forbiddenField('immutable', why), ...causes];
}
