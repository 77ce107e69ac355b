// StorageClass: where volumes of a kind come from. Pure.
// Guarantees: what volumes were made by does not change under them.
import { byteLength } from '../../byteLength.js';
import { type Cause, checkImmutable, checkName, checkOneOf, required, tooLong } from '../../causes.js';
import { ageColumn, column } from '../../columns.js';
import type { V1StorageClass } from '../../gen/types.js';
import type { KindDefinition } from '../../kind.js';
import { qualifiedName } from '../../names.js';
import { STORAGE_CLASSES } from '../../resources.js';

const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];
const MAX_PARAMETERS = 512;
const MAX_PARAMETERS_BYTES = 256 * 1024;

const isDefaultStorageClass = ({ metadata }: V1StorageClass): boolean =>
  DEFAULT_CLASS.some((name) => metadata?.annotations?.[name] === 'true');

export const storageClassKind: KindDefinition<V1StorageClass> = {
  type: STORAGE_CLASSES,
  singular: 'storageclass',
  shortNames: ['sc'],
  categories: [],
  model: 'V1StorageClass',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.reclaimPolicy ??= 'Delete';
    draft.volumeBindingMode ??= 'Immediate';
  },
  validate: (object, old) => [
    ...validateProvisioner(object.provisioner),
    ...validateParameters(object.parameters, 'parameters'),
    ...checkOneOf('reclaimPolicy', object.reclaimPolicy, ['Delete', 'Retain']),
    ...checkOneOf('volumeBindingMode', object.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']),
    ...(old === undefined ? [] : validateUpdate(object, old)),
  ],
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'The name of the class; the default one says so.',
      priority: 0,
      cell: (object) => `${object.metadata?.name ?? ''}${isDefaultStorageClass(object) ? ' (default)' : ''}`,
    },
    column('Provisioner', ({ provisioner }) => provisioner, { description: 'Who makes the volumes.' }),
    column('ReclaimPolicy', ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete', {
      description: 'What becomes of a volume after its claim.',
    }),
    column('VolumeBindingMode', ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate', {
      description: 'When a volume is made: at once, or for the first pod.',
    }),
    column('AllowVolumeExpansion', ({ allowVolumeExpansion }) => String(allowVolumeExpansion ?? false), {
      description: 'Whether its volumes may grow.',
    }),
    ageColumn,
  ],
};

function validateProvisioner(provisioner: string | undefined): Cause[] {
  return provisioner
    ? checkName('provisioner', provisioner.toLowerCase(), qualifiedName)
    : [required('provisioner')];
}

/** What a driver is told, in bounds; also of VolumeAttributesClass. */
export function validateParameters(
  parameters: Readonly<Record<string, string>> | undefined,
  at: string,
): Cause[] {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > MAX_PARAMETERS) return [tooLong(at, MAX_PARAMETERS)];
  const causes: Cause[] = entries.some(([key]) => key === '')
    ? [required(at, 'field can not be empty.')]
    : [];
  const size = entries.reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  return size > MAX_PARAMETERS_BYTES ? [...causes, tooLong(at, MAX_PARAMETERS_BYTES)] : causes;
}

function validateUpdate(object: V1StorageClass, old: V1StorageClass): Cause[] {
  return (['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const).flatMap((field) =>
    checkImmutable(field, `V1StorageClass.${field}`, object[field], old[field]),
  );
}
