// Secret: confidential data by key, of a type that says which keys must be there. Pure.
// Guarantees: stringData is folded into data and never kept; the type never changes; no value is in any message.
import { base64OfText } from '../base64.js';
import { type Cause, checkName, IMMUTABLE, invalidValue, required, tooLong } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1Secret } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { configKey } from '../names.js';
import { getOwn, setOwn } from '../ownKeys.js';
import { SECRETS } from '../resources.js';
import { base64Bytes, MAX_DATA_BYTES, validateImmutable } from './configMap.js';

const REQUIRED_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
};
const SERVICE_ACCOUNT = 'kubernetes.io/service-account.name';

export const secretKind: KindDefinition<V1Secret> = {
  type: SECRETS,
  singular: 'secret',
  shortNames: [],
  categories: [],
  model: 'V1Secret',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.type ||= 'Opaque';
    if (draft.stringData === undefined) return;
    const data = { ...draft.data };
    for (const [key, text] of Object.entries(draft.stringData)) setOwn(data, key, base64OfText(text));
    draft.data = data;
    delete draft.stringData;
  },
  validate(object, old) {
    const { data = {}, type = '' } = object;
    const causes: Cause[] = Object.keys(data).flatMap((key) => checkName(`data[${key}]`, key, configKey));
    const size = Object.values(data).reduce((sum, value) => sum + base64Bytes(value), 0);
    if (size > MAX_DATA_BYTES) causes.push(tooLong('data', MAX_DATA_BYTES));
    for (const key of getOwn(REQUIRED_KEYS, type) ?? [])
      if (!Object.hasOwn(data, key)) causes.push(required(`data[${key}]`));
    if (type === 'kubernetes.io/service-account-token' && !object.metadata?.annotations?.[SERVICE_ACCOUNT])
      causes.push(required(`metadata.annotations[${SERVICE_ACCOUNT}]`));
    if (old !== undefined && old.type !== type) causes.push(invalidValue('type', type, IMMUTABLE));
    return [...causes, ...validateImmutable(object, old, ['data'])];
  },
  columns: [
    nameColumn,
    column('Type', ({ type }) => type ?? '', { description: 'What the data is for.' }),
    column('Data', ({ data }) => Object.keys(data ?? {}).length, { description: 'How many keys it holds.' }),
    ageColumn,
  ],
  fields: ({ type }) => ({ type: type ?? '' }),
};
