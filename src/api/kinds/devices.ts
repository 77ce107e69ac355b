// Devices that drivers offer and pods claim: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice. Pure.
// Guarantees: what a claim asks for never changes; a slice stays its driver's, its pool's and its node's.
import {
  type Cause,
  checkImmutable,
  checkOneOf,
  checkRequiredName,
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  tooMany,
} from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type {
  ResourceV1ResourceClaim,
  V1DeviceClaim,
  V1DeviceClass,
  V1DeviceRequest,
  V1DeviceSelector,
  V1ExactDeviceRequest,
  V1OpaqueDeviceConfiguration,
  V1ResourceClaimSpec,
  V1ResourceClaimTemplate,
  V1ResourceSlice,
  V1ResourceSliceSpec,
} from '../gen/types.js';
import { type Draft, type KindDefinition, STATUS_METADATA } from '../kind.js';
import { dnsLabel, dnsSubdomain } from '../names.js';
import { DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_SLICES } from '../resources.js';
import { driverName } from './storage/driverName.js';

const MOST_PARTS = 32;
const MOST_SUBREQUESTS = 8;
const MOST_DEVICES = 128;
const MOST_RESERVED = 256;
const MODES = ['All', 'ExactCount'];

export const deviceClassKind: KindDefinition<V1DeviceClass> = {
  type: DEVICE_CLASSES,
  singular: 'deviceclass',
  shortNames: [],
  categories: [],
  model: 'V1DeviceClass',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  validate: ({ spec }) => [
    ...validateSelectors(spec?.selectors, 'spec.selectors'),
    ...atMost(spec?.config, MOST_PARTS, 'spec.config'),
    ...(spec?.config ?? []).flatMap(({ opaque }, index) => validateOpaque(opaque, `spec.config[${index}]`)),
  ],
  columns: [nameColumn, ageColumn],
};

export const resourceClaimKind: KindDefinition<ResourceV1ResourceClaim> = {
  type: RESOURCE_CLAIMS,
  singular: 'resourceclaim',
  shortNames: [],
  categories: [],
  model: 'ResourceV1ResourceClaim',
  hasStatus: true,
  statusKeeps: STATUS_METADATA,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults: ({ spec }) => defaultRequests(spec),
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate: (object, old) => [
    ...validateClaim(object.spec, 'spec'),
    ...(old === undefined
      ? []
      : checkImmutable('spec', 'ResourceV1ResourceClaim.spec', object.spec, old.spec)),
    ...validateStatus(object, old),
  ],
  columns: [
    nameColumn,
    column('State', stateOf, {
      description: 'Whether it has its devices, and whether somebody may use them.',
    }),
    ageColumn,
  ],
};

function stateOf({ metadata, status }: ResourceV1ResourceClaim): string {
  const states = [
    ...(metadata?.deletionTimestamp === undefined ? [] : ['deleted']),
    ...(status?.allocation === undefined ? ['pending'] : ['allocated']),
    ...((status?.reservedFor ?? []).length === 0 ? [] : ['reserved']),
  ];
  return states.join(',');
}

export const resourceClaimTemplateKind: KindDefinition<V1ResourceClaimTemplate> = {
  type: RESOURCE_CLAIM_TEMPLATES,
  singular: 'resourceclaimtemplate',
  shortNames: [],
  categories: [],
  model: 'V1ResourceClaimTemplate',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults: ({ spec }) => defaultRequests(spec?.spec),
  validate: ({ spec }, old) => [
    ...validateClaim(spec?.spec, 'spec.spec'),
    ...(old === undefined ? [] : checkImmutable('spec', 'V1ResourceClaimTemplate.spec', spec, old.spec)),
  ],
  columns: [nameColumn, ageColumn],
};

export const resourceSliceKind: KindDefinition<V1ResourceSlice> = {
  type: RESOURCE_SLICES,
  singular: 'resourceslice',
  shortNames: [],
  categories: [],
  model: 'V1ResourceSlice',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  validate: ({ spec }, old) => [
    ...validateSlice(spec),
    ...(old === undefined
      ? []
      : [
          ...checkImmutable('spec.driver', 'V1ResourceSliceSpec.driver', spec?.driver, old.spec?.driver),
          ...checkImmutable('spec.pool.name', 'V1ResourcePool.name', spec?.pool?.name, old.spec?.pool?.name),
          ...checkImmutable(
            'spec.nodeName',
            'V1ResourceSliceSpec.nodeName',
            spec?.nodeName,
            old.spec?.nodeName,
          ),
        ]),
  ],
  fields: ({ spec }) => ({ 'spec.driver': spec?.driver ?? '', 'spec.nodeName': spec?.nodeName ?? '' }),
  columns: [
    nameColumn,
    column('Node', ({ spec }) => spec?.nodeName ?? '<unset>', {
      description: 'The node that has the devices.',
    }),
    column('Driver', ({ spec }) => spec?.driver ?? '', { description: 'The driver that offers them.' }),
    column('Pool', ({ spec }) => spec?.pool?.name ?? '', { description: 'The pool that they belong to.' }),
    ageColumn,
  ],
};

function defaultRequests(spec: Draft<V1ResourceClaimSpec> | undefined): void {
  for (const { exactly, firstAvailable } of spec?.devices?.requests ?? [])
    for (const request of [...(exactly === undefined ? [] : [exactly]), ...(firstAvailable ?? [])]) {
      request.allocationMode ||= 'ExactCount';
      if (request.allocationMode === 'ExactCount') request.count ||= 1;
    }
}

function validateClaim(spec: V1ResourceClaimSpec | undefined, at: string): Cause[] {
  const devices: V1DeviceClaim = spec?.devices ?? {};
  const { requests = [], constraints, config } = devices;
  const here = `${at}.devices`;
  return [
    ...atMost(requests, MOST_PARTS, `${here}.requests`),
    ...requests.flatMap((request, index) => validateRequest(request, `${here}.requests[${index}]`)),
    ...duplicates(requests, `${here}.requests`),
    ...atMost(constraints, MOST_PARTS, `${here}.constraints`),
    ...atMost(config, MOST_PARTS, `${here}.config`),
    ...(config ?? []).flatMap(({ opaque }, index) => validateOpaque(opaque, `${here}.config[${index}]`)),
  ];
}

function validateRequest({ name, exactly, firstAvailable }: V1DeviceRequest, at: string): Cause[] {
  const named = checkRequiredName(`${at}.name`, name, dnsLabel);
  const hasList = (firstAvailable ?? []).length > 0;
  if ((exactly === undefined) === !hasList)
    return [
      ...named,
      exactly === undefined
        ? required(at, 'exactly one of `exactly` or `firstAvailable` is required')
        : invalidValue(at, null, 'exactly one of `exactly` or `firstAvailable` is required'),
    ];
  return [
    ...named,
    ...(exactly === undefined ? [] : validateExact(exactly, `${at}.exactly`)),
    ...atMost(firstAvailable, MOST_SUBREQUESTS, `${at}.firstAvailable`),
    ...duplicates(firstAvailable ?? [], `${at}.firstAvailable`),
    ...(firstAvailable ?? []).flatMap((one, index) => [
      ...checkRequiredName(`${at}.firstAvailable[${index}].name`, one.name, dnsLabel),
      ...validateExact(one, `${at}.firstAvailable[${index}]`),
    ]),
  ];
}

type Asked = Pick<V1ExactDeviceRequest, 'deviceClassName' | 'selectors' | 'allocationMode' | 'count'>;

function validateExact(
  { deviceClassName, selectors, allocationMode, count = 0 }: Asked,
  at: string,
): Cause[] {
  return [
    ...checkRequiredName(`${at}.deviceClassName`, deviceClassName, dnsSubdomain),
    ...validateSelectors(selectors, `${at}.selectors`),
    ...checkOneOf(`${at}.allocationMode`, allocationMode ?? '', MODES),
    ...(allocationMode === 'ExactCount' && count <= 0
      ? [invalidValue(`${at}.count`, count, 'must be greater than zero')]
      : []),
    ...(allocationMode === 'All' && count !== 0
      ? [invalidValue(`${at}.count`, count, "must not be specified when allocationMode is 'All'")]
      : []),
  ];
}

function validateSelectors(selectors: readonly V1DeviceSelector[] | undefined, at: string): Cause[] {
  return [
    ...atMost(selectors, MOST_PARTS, at),
    ...(selectors ?? []).flatMap(({ cel }, index) =>
      cel?.expression ? [] : [required(`${at}[${index}].cel${cel === undefined ? '' : '.expression'}`)],
    ),
  ];
}

function validateOpaque(opaque: V1OpaqueDeviceConfiguration | undefined, at: string): Cause[] {
  if (opaque === undefined) return [required(`${at}.opaque`)];
  const { driver, parameters } = opaque;
  const isObject = typeof parameters === 'object' && parameters !== null && !Array.isArray(parameters);
  return [
    ...checkRequiredName(`${at}.opaque.driver`, driver, driverName),
    ...(isObject ? [] : [required(`${at}.opaque.parameters`)]),
  ];
}

/** Who uses a claim is told only of one that has its devices; which they are changes only by giving them back. */
function validateStatus(object: ResourceV1ResourceClaim, old: ResourceV1ResourceClaim | undefined): Cause[] {
  const { allocation, reservedFor = [] } = object.status ?? {};
  const had = old?.status?.allocation;
  return [
    ...(reservedFor.length > 0 && allocation === undefined
      ? [forbiddenField('status.reservedFor', 'may not be specified when `allocated` is not set')]
      : []),
    ...atMost(reservedFor, MOST_RESERVED, 'status.reservedFor'),
    ...reservedFor.flatMap(({ uid }, index) =>
      reservedFor.findIndex((one) => one.uid === uid) < index
        ? [duplicate(`status.reservedFor[${index}].uid`, uid)]
        : [],
    ),
    ...(had !== undefined && allocation !== undefined
      ? checkImmutable('status.allocation', 'V1ResourceClaimStatus.allocation', allocation, had)
      : []),
  ];
}

function validateSlice(spec: V1ResourceSliceSpec | undefined): Cause[] {
  if (spec === undefined) return [required('spec')];
  const { driver, pool, devices = [], nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  const places = [nodeName, nodeSelector, allNodes, perDeviceNodeSelection].filter((place) => Boolean(place));
  const one = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  return [
    ...checkRequiredName('spec.driver', driver, driverName),
    ...(pool?.name ? [] : [required('spec.pool.name')]),
    ...((pool?.generation ?? 0) < 0
      ? [invalidValue('spec.pool.generation', pool?.generation, 'must be greater than or equal to zero')]
      : []),
    ...((pool?.resourceSliceCount ?? 0) <= 0
      ? [
          invalidValue(
            'spec.pool.resourceSliceCount',
            pool?.resourceSliceCount ?? 0,
            'must be greater than zero',
          ),
        ]
      : []),
    ...(places.length === 0 ? [required('spec', one)] : []),
    ...(places.length > 1 ? [invalidValue('spec', null, one)] : []),
    ...atMost(devices, MOST_DEVICES, 'spec.devices'),
    ...devices.flatMap(({ name }, index) => checkRequiredName(`spec.devices[${index}].name`, name, dnsLabel)),
    ...duplicates(devices, 'spec.devices'),
  ];
}

const atMost = (list: readonly unknown[] | undefined, most: number, at: string): Cause[] =>
  list !== undefined && list.length > most ? [tooMany(at, list.length, most)] : [];

function duplicates(list: readonly { readonly name: string }[], at: string): Cause[] {
  const seen = new Set<string>();
  return list.flatMap(({ name }, index) => {
    const again = seen.has(name);
    seen.add(name);
    return again ? [duplicate(`${at}[${index}].name`, name)] : [];
  });
}
