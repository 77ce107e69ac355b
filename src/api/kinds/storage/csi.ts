// The kinds by which CSI drivers tell what they are, where they run and how much room they have. Pure.
// Guarantees: a node's drivers have names and ids; what a driver's volumes rely on does not change.
import { byteLength } from '../../byteLength.js';
import {
  type Cause,
  checkImmutable,
  checkName,
  checkOneOf,
  checkRequiredName,
  duplicate,
  invalidValue,
  required,
} from '../../causes.js';
import { ageColumn, column, createdAtColumn, nameColumn } from '../../columns.js';
import type {
  V1CSIDriver,
  V1CSIDriverSpec,
  V1CSINode,
  V1CSINodeDriver,
  V1CSIStorageCapacity,
  V1VolumeAttributesClass,
} from '../../gen/types.js';
import type { KindDefinition } from '../../kind.js';
import { validateLabelSelector } from '../../meta.js';
import { dnsSubdomain, qualifiedName } from '../../names.js';
import { tryParseQuantity } from '../../quantity.js';
import {
  CSI_DRIVERS,
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '../../resources.js';
import { driverName } from './driverName.js';
import { validateParameters } from './storageClass.js';

const common = {
  shortNames: [],
  categories: [],
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
} as const;
const MAX_NODE_ID = 192;

export const csiDriverKind: KindDefinition<V1CSIDriver> = {
  ...common,
  type: CSI_DRIVERS,
  needsResourceVersion: true,
  singular: 'csidriver',
  model: 'V1CSIDriver',
  defaults(draft) {
    draft.spec ??= {};
    const { spec } = draft;
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  validate: ({ metadata, spec }, old) => [
    ...checkName('metadata.name', metadata?.name ?? '', driverName),
    ...validateDriver(spec),
    ...(old === undefined
      ? []
      : (['attachRequired', 'volumeLifecycleModes'] as const).flatMap((field) =>
          checkImmutable(`spec.${field}`, `V1CSIDriverSpec.${field}`, spec[field], old.spec[field]),
        )),
  ],
  columns: [
    nameColumn,
    column('AttachRequired', ({ spec }) => String(spec.attachRequired ?? true), {
      description: 'Whether a volume is attached before it is mounted.',
    }),
    column('PodInfoOnMount', ({ spec }) => String(spec.podInfoOnMount ?? false), {
      description: 'Whether it is told for which pod it mounts.',
    }),
    column('StorageCapacity', ({ spec }) => String(spec.storageCapacity ?? false), {
      description: 'Whether it says how much room there is.',
    }),
    column(
      'TokenRequests',
      ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(',') || '<unset>',
      {
        description: "The audiences of the pods' tokens it gets.",
      },
    ),
    column('RequiresRepublish', ({ spec }) => String(spec.requiresRepublish ?? false), {
      description: 'Whether it wants to be called again and again.',
    }),
    column('Modes', ({ spec }) => spec.volumeLifecycleModes?.join(',') || '<none>', {
      description: 'Whether its volumes outlive pods.',
    }),
    ageColumn,
  ],
};

function validateDriver({
  fsGroupPolicy,
  tokenRequests = [],
  volumeLifecycleModes = [],
}: V1CSIDriverSpec): Cause[] {
  const audiences = new Set<string>();
  return [
    ...checkOneOf('spec.fsGroupPolicy', fsGroupPolicy, ['ReadWriteOnceWithFSType', 'File', 'None']),
    ...volumeLifecycleModes.flatMap((mode) =>
      checkOneOf('spec.volumeLifecycleModes', mode, ['Persistent', 'Ephemeral']),
    ),
    ...tokenRequests.flatMap(({ audience, expirationSeconds: seconds }, index) => {
      const at = `spec.tokenRequests[${index}]`;
      const causes: Cause[] = audiences.has(audience) ? [duplicate(`${at}.audience`, audience)] : [];
      audiences.add(audience);
      if (seconds !== undefined && seconds < 600)
        causes.push(
          invalidValue(`${at}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes'),
        );
      return causes;
    }),
  ];
}

export const csiNodeKind: KindDefinition<V1CSINode> = {
  ...common,
  type: CSI_NODES,
  needsResourceVersion: true,
  singular: 'csinode',
  model: 'V1CSINode',
  defaults(draft) {
    draft.spec ??= { drivers: [] };
    draft.spec.drivers ??= [];
  },
  validate: ({ spec }, old) => validateNodeDrivers(spec.drivers ?? [], old?.spec.drivers ?? []),
  columns: [
    nameColumn,
    column('Drivers', ({ spec }) => spec.drivers?.length ?? 0, {
      type: 'integer',
      description: 'How many drivers run on the node.',
    }),
    ageColumn,
  ],
};

function validateNodeDrivers(drivers: readonly V1CSINodeDriver[], old: readonly V1CSINodeDriver[]): Cause[] {
  const names = new Set<string>();
  const known = new Map(old.map((driver) => [driver.name, driver]));
  return drivers.flatMap((driver, index) => {
    const at = `spec.drivers[${index}]`;
    const { name, nodeID = '', topologyKeys = [], allocatable } = driver;
    const causes = checkRequiredName(`${at}.name`, name, driverName);
    if (names.has(name)) causes.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (nodeID === '') causes.push(required(`${at}.nodeID`));
    else if (byteLength(nodeID) > MAX_NODE_ID)
      causes.push(invalidValue(`${at}.nodeID`, nodeID, `must be ${MAX_NODE_ID} characters or less`));
    if ((allocatable?.count ?? 0) < 0)
      causes.push(
        invalidValue(`${at}.allocatable.count`, allocatable?.count, 'must be greater than or equal to 0'),
      );
    for (const key of topologyKeys) causes.push(...checkName(`${at}.topologyKeys`, key, qualifiedName));
    const before = known.get(name);
    // How many volumes fit may be told anew; who the driver is may not.
    if (before !== undefined)
      causes.push(
        ...checkImmutable(`${at}.nodeID`, 'V1CSINodeDriver.nodeID', nodeID, before.nodeID),
        ...checkImmutable(
          `${at}.topologyKeys`,
          'V1CSINodeDriver.topologyKeys',
          topologyKeys,
          before.topologyKeys,
        ),
      );
    return causes;
  });
}

export const csiStorageCapacityKind: KindDefinition<V1CSIStorageCapacity> = {
  ...common,
  type: CSI_STORAGE_CAPACITIES,
  needsResourceVersion: true,
  singular: 'csistoragecapacity',
  model: 'V1CSIStorageCapacity',
  validate: (object, old) => [
    ...validateLabelSelector(object.nodeTopology, 'nodeTopology'),
    ...checkRequiredName('storageClassName', object.storageClassName, dnsSubdomain),
    ...(['capacity', 'maximumVolumeSize'] as const).flatMap((field) => {
      const amount = object[field];
      return amount === undefined || (tryParseQuantity(amount)?.nanos ?? -1n) >= 0n
        ? []
        : [invalidValue(field, amount, 'must be greater than or equal to 0')];
    }),
    ...(old === undefined
      ? []
      : (['nodeTopology', 'storageClassName'] as const).flatMap((field) =>
          checkImmutable(field, `V1CSIStorageCapacity.${field}`, object[field], old[field]),
        )),
  ],
  columns: [nameColumn, createdAtColumn],
};

export const volumeAttributesClassKind: KindDefinition<V1VolumeAttributesClass> = {
  ...common,
  shortNames: ['vac'],
  type: VOLUME_ATTRIBUTES_CLASSES,
  singular: 'volumeattributesclass',
  model: 'V1VolumeAttributesClass',
  validate: (object, old) => [
    ...checkRequiredName('driverName', object.driverName, driverName),
    ...(Object.keys(object.parameters ?? {}).length === 0
      ? [required('parameters', 'must contain at least one key/value pair')]
      : validateParameters(object.parameters, 'parameters')),
    ...(old === undefined
      ? []
      : (['driverName', 'parameters'] as const).flatMap((field) =>
          checkImmutable(field, `V1VolumeAttributesClass.${field}`, object[field], old[field]),
        )),
  ],
  columns: [
    nameColumn,
    column('DriverName', ({ driverName: driver }) => driver, { description: 'The driver it is for.' }),
    ageColumn,
  ],
};
