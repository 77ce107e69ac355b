// CustomResourceDefinition: a kind that the cluster's users bring themselves. Pure.
// Guarantees: what is let in can be served; group, plural and, once established, kind and scope never change.
import { type Cause, checkOneOf, IMMUTABLE, invalidValue, invalidWhole, required } from '../../causes.js';
import { column, nameColumn } from '../../columns.js';
import { decodeModel, decodeObject } from '../../decode.js';
import type { V1CustomResourceDefinition, V1JSONSchemaProps } from '../../gen/types.js';
import type { BodyReader, Draft, KindDefinition } from '../../kind.js';
import { dnsLabel1035, dnsSubdomain } from '../../names.js';
import { isMembers, isTooDeep, type Members, sameJson } from '../../ownKeys.js';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../resources.js';
import { DecodeError } from '../../scalars.js';
import { statusError } from '../../status.js';
import { checkApproval } from './approval.js';
import { CLEANUP_FINALIZER, isTrue, storedVersions, withCondition } from './conditions.js';
import { checkConversion, webhookBundleFault } from './conversion.js';
import { checkNames } from './names.js';
import { checkVersion } from './versions.js';

type Definition = V1CustomResourceDefinition;

const MODEL = 'V1CustomResourceDefinition';
/** A schema is walked by recursion. Real ones nest some sixty deep. */
const MAX_DEPTH = 500;

export const customResourceDefinitionKind: KindDefinition<Definition> = {
  type: CUSTOM_RESOURCE_DEFINITIONS,
  singular: 'customresourcedefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  model: MODEL,
  hasStatus: true,
  hasGeneration: true,
  needsResourceVersion: true,
  mayTakeLong: true,
  nameRule: 'dnsSubdomain',
  decode: (value, options) => decodeDefinition(value, options),
  defaults: (draft) => fillIn(draft),
  prepareForCreate: (draft) => {
    draft.status = { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: [] };
    draft.status.storedVersions = [...storedVersions(draft as Definition)];
  },
  prepareForUpdate: (draft, old, { subresource }) => {
    if (subresource === 'status') return;
    draft.status = { ...(old.status as Draft<Definition>['status']) };
    draft.status.storedVersions = [...storedVersions(draft as Definition)];
  },
  prepareForDelete: (draft, time) => {
    const { metadata, status } = draft;
    if (metadata === undefined || metadata.deletionTimestamp !== undefined) return;
    metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), CLEANUP_FINALIZER])];
    draft.status = {
      ...status,
      conditions: [
        ...withCondition(
          status?.conditions ?? [],
          {
            type: 'Terminating',
            status: 'True',
            reason: 'InstanceDeletionPending',
            message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
          },
          time,
        ),
      ],
    };
  },
  validate: (definition, old) => checkDefinition(definition, old),
  columns: [
    nameColumn,
    column('Created At', ({ metadata }) => metadata?.creationTimestamp ?? '', {
      type: 'date',
      description: 'When the definition was created.',
    }),
  ],
};

/** Schemas below `items` and `additionalProperties` are of no type to the generated schemas, and read here. */
const decodeDefinition: BodyReader<Definition> = (value, options) => {
  const form = { type: CUSTOM_RESOURCE_DEFINITIONS, model: MODEL };
  const decoded = decodeObject<Definition>(form, value, options);
  if (isTooDeep(decoded.object, MAX_DEPTH))
    throw statusError('BadRequest', `a definition may not nest deeper than ${MAX_DEPTH}`);
  try {
    for (const version of decoded.object.spec?.versions ?? []) {
      const schema = version.schema?.openAPIV3Schema;
      if (schema !== undefined) readOpenMembers(schema as Members);
    }
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    const lead = 'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition';
    throw statusError('BadRequest', `${lead}: ${cause.message}`, undefined, { cause });
  }
  return decoded;
};

const OPEN = ['items', 'additionalProperties'];
const SINGLE = [...OPEN, 'not'];
const JUNCTORS = ['allOf', 'anyOf', 'oneOf'];

function readOpenMembers(schema: Members): void {
  for (const name of OPEN) {
    const below = schema[name];
    if (below === undefined || typeof below === 'boolean' || Array.isArray(below)) continue;
    schema[name] = decodeModel<V1JSONSchemaProps>('V1JSONSchemaProps', below).object;
  }
  for (const name of SINGLE) readOpenPart(schema[name]);
  for (const name of JUNCTORS) {
    const parts = schema[name];
    if (Array.isArray(parts)) for (const part of parts) readOpenPart(part);
  }
  const properties = schema['properties'];
  if (isMembers(properties)) for (const name of Object.keys(properties)) readOpenPart(properties[name]);
}

function readOpenPart(part: unknown): void {
  if (isMembers(part)) readOpenMembers(part);
}

function fillIn({ spec }: Draft<Definition>): void {
  if (spec === undefined) return;
  spec.group ??= '';
  spec.scope ??= '';
  spec.versions ??= [];
  spec.names ??= { plural: '', kind: '' };
  const { names } = spec;
  names.singular ||= (names.kind ?? '').toLowerCase();
  if (names.kind) names.listKind ||= `${names.kind}List`;
  spec.conversion ??= { strategy: 'None' };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service !== undefined) service.port ??= 443;
}

function checkDefinition(definition: Definition, old: Definition | undefined): Cause[] {
  const { spec, status } = definition;
  const required = `${spec.names?.plural ?? ''}.${spec.group ?? ''}`;
  const name = definition.metadata?.name ?? '';
  return [
    ...(old === undefined && name !== required
      ? [invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group')]
      : []),
    ...checkSpec(definition, old),
    ...(old === undefined ? [] : checkUpdate(definition, old)),
    ...checkNames(status?.acceptedNames ?? {}, 'status.acceptedNames'),
    ...checkStored(definition),
    ...checkApproval(definition, old),
  ];
}

function checkSpec({ spec }: Definition, old: Definition | undefined): Cause[] {
  const causes: Cause[] = [];
  const { group = '', names, scope = '', versions = [] } = spec;
  if (group === '') causes.push(required('spec.group'));
  else {
    const faults = dnsSubdomain(group);
    if (faults.length > 0) causes.push(invalidValue('spec.group', group, faults.join(',')));
    else if (!group.includes('.'))
      causes.push(invalidValue('spec.group', group, 'should be a domain with at least one dot'));
  }
  if (scope === '') causes.push(required('spec.scope'));
  else causes.push(...checkOneOf('spec.scope', scope, ['Cluster', 'Namespaced']));
  if (spec.preserveUnknownFields === true)
    causes.push(
      invalidValue(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    );
  for (const [index, version] of versions.entries()) {
    const path = `spec.versions[${index}]`;
    if (version.schema?.openAPIV3Schema === undefined)
      causes.push(required(`${path}.schema.openAPIV3Schema`));
    const faults = dnsLabel1035(version.name ?? '');
    if (faults.length > 0) causes.push(invalidValue(`${path}.name`, version.name ?? '', faults.join(',')));
    const before = old?.spec.versions.find(({ name }) => name === version.name);
    const isUnchanged = before !== undefined && sameJson(before.schema, version.schema);
    causes.push(...checkVersion(version, path, isUnchanged));
  }
  if (new Set(versions.map((version) => version.name)).size < versions.length)
    causes.push(invalidWhole('spec.versions', 'must contain unique version names'));
  if (versions.filter(({ storage }) => storage).length !== 1)
    causes.push(invalidWhole('spec.versions', 'must have exactly one version marked as storage version'));
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names?.[field]) causes.push(required(`spec.names.${field}`));
  return [
    ...causes,
    ...checkNames(names ?? {}, 'spec.names'),
    ...checkConversion(spec.conversion, {
      path: 'spec.conversion',
      anyBundle:
        old === undefined ||
        !isTrue(old, 'Established') ||
        webhookBundleFault(old.spec.conversion) !== undefined,
    }),
  ];
}

function checkUpdate({ spec }: Definition, old: Definition): Cause[] {
  const fixed: [string, unknown, unknown][] = [
    ['spec.group', spec.group, old.spec.group],
    ['spec.names.plural', spec.names.plural, old.spec.names.plural],
  ];
  if (isTrue(old, 'Established'))
    fixed.push(
      ['spec.scope', spec.scope, old.spec.scope],
      ['spec.names.kind', spec.names.kind, old.spec.names.kind],
    );
  return fixed
    .filter(([, value, before]) => value !== before)
    .map(([field, value]) => invalidValue(field, value, IMMUTABLE));
}

function checkStored({ spec, status }: Definition): Cause[] {
  const stored = status?.storedVersions ?? [];
  const field = 'status.storedVersions';
  if (stored.length === 0) return [invalidValue(field, stored, 'must have at least one stored version')];
  const names = new Set((spec.versions ?? []).map(({ name }) => name));
  const storage = (spec.versions ?? []).find((version) => version.storage)?.name;
  return [
    ...(storage === undefined || stored.includes(storage)
      ? []
      : [invalidValue(field, stored, `must have the storage version ${storage}`)]),
    ...stored.flatMap((name, index) =>
      names.has(name)
        ? []
        : [
            invalidValue(
              `${field}[${index}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    ),
  ];
}
