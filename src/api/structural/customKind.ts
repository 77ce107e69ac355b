// The kinds that a definition makes: one for each of its versions, over the same stored objects. Pure.
// Guarantees: schemas are compiled when a version is first used; every version prunes, fills in and validates by its own.
import { type Cause, invalidValue } from '../causes.js';
import { decodeModel, requireType } from '../decode.js';
import type {
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionVersion,
  V1ObjectMeta,
} from '../gen/types.js';
import type { BodyReader, CustomForm, Draft, KindDefinition, KindVersion } from '../kind.js';
import type { KubeObject } from '../object.js';
import { isMembers, isTooDeep, type Members, sameJson } from '../ownKeys.js';
import { apiVersionOf, type ResourceType } from '../resources.js';
import { DecodeError } from '../scalars.js';
import { statusError } from '../status.js';
import { columnsOf, fieldsOf } from './customColumns.js';
import { scaleFaults, scaleOf } from './customScale.js';
import { fillDefaults } from './defaulting.js';
import { checkEmbedded, coerceEmbedded } from './embedded.js';
import { checkListKeys } from './listKeys.js';
import { prunedResource } from './prune.js';
import { type JsonSchema, type Structural, structural } from './schema.js';
import { type CompiledRules, schemaRules } from './schemaRules.js';
import { makeValidator, type Validator } from './validate.js';

type Definition = V1CustomResourceDefinition;
type Version = V1CustomResourceDefinitionVersion;

export interface CustomKinds {
  /**
   * By the name of the version. All have the type of the storage version: under it lie the objects. Where a webhook
   * converts, each has its own type.
   */
  readonly kinds: ReadonlyMap<string, KindDefinition>;
  /** How a version is shown; undefined for the one that is stored, and for all where a webhook converts. */
  readonly forms: ReadonlyMap<string, KindVersion>;
  /** The kind in the form in which objects are stored, served or not. */
  readonly stored: KindDefinition;
  /** By the name of the version, where a webhook converts; undefined where it does not. */
  readonly converted: ReadonlyMap<string, ConvertedForm> | undefined;
}

/** Of a version that a webhook turns into others: what becomes of its answers, and which objects need none. */
export interface ConvertedForm {
  readonly apiVersion: string;
  /** In which objects are written. */
  readonly storage: string;
  /** True for what was stored since the definition was as it is now: in its own version it is as it should be. */
  isCurrent(revision: number): boolean;
  /** As this version has it: its fields and its defaults. */
  inForm(object: KubeObject): KubeObject;
}

const ANY: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Of the objects of a definition. */
export interface Currency {
  /** What was stored later was surely written with the definition as it is now. */
  readonly since: number;
}

export function customKinds(definition: Definition, currency: Currency): CustomKinds {
  const { spec } = definition;
  const storage = spec.versions.find((version) => version.storage) ?? (spec.versions[0] as Version);
  const compiled = new Map(spec.versions.map((version) => [version.name, new CompiledVersion(version)]));
  const isConverted = spec.conversion?.strategy === 'Webhook' && spec.versions.length > 1;
  const maker = { definition, storage, compiled, currency, isConverted };
  const kinds = new Map(spec.versions.map((version) => [version.name, kindOf(maker, version)]));
  const others = spec.versions.filter(({ name }) => name !== storage.name);
  return {
    kinds,
    forms: new Map(isConverted ? [] : others.map((version) => [version.name, formOf(maker, version)])),
    stored: { ...(kinds.get(storage.name) as KindDefinition), ...allFields(spec.versions) },
    converted: isConverted
      ? new Map(spec.versions.map((version) => [version.name, convertedForm(maker, version)]))
      : undefined,
  };
}

function convertedForm({ definition, storage, compiled, currency }: Maker, version: Version): ConvertedForm {
  const own = compiled.get(version.name) as CompiledVersion;
  const apiVersion = apiVersionOf(typeOf(definition, version.name));
  return {
    apiVersion,
    storage: apiVersionOf(typeOf(definition, storage.name)),
    isCurrent: (revision) => revision > currency.since,
    inForm: (object) => inForm(object, own.schema, apiVersion),
  };
}

/** What is kept of objects for selectors is for those of every version. */
function allFields(versions: readonly Version[]): Pick<KindDefinition, 'fields'> {
  const paths = versions.flatMap(({ selectableFields = [] }) =>
    selectableFields.map(({ jsonPath }) => jsonPath),
  );
  return paths.length === 0 ? {} : { fields: fieldsOf([...new Set(paths)]) };
}

/** What is made of a version's schema, once it is needed. */
class CompiledVersion {
  #schema: Structural | undefined;
  #validator: Validator | undefined;
  #rules: CompiledRules | undefined;
  #hasRules: boolean | undefined;
  readonly source: JsonSchema;

  constructor(readonly version: Version) {
    this.source = version.schema?.openAPIV3Schema ?? ANY;
  }

  get schema(): Structural {
    this.#schema ??= structural(this.source);
    return this.#schema;
  }

  get validator(): Validator {
    this.#validator ??= makeValidator(this.source);
    return this.#validator;
  }

  get rules(): CompiledRules | undefined {
    if (this.#hasRules === undefined) {
      this.#rules = schemaRules()?.compile(this.source);
      this.#hasRules = this.#rules !== undefined;
    }
    return this.#rules;
  }
}

interface Maker {
  readonly definition: Definition;
  readonly storage: Version;
  readonly compiled: ReadonlyMap<string, CompiledVersion>;
  readonly currency: Currency;
  readonly isConverted: boolean;
}

function typeOf({ spec }: Definition, version: string): ResourceType {
  return Object.freeze({
    group: spec.group,
    version,
    resource: spec.names.plural,
    kind: spec.names.kind,
    namespaced: spec.scope === 'Namespaced',
  });
}

function kindOf(maker: Maker, version: Version): KindDefinition {
  const { definition, storage, compiled, isConverted } = maker;
  const { spec, status } = definition;
  const own = compiled.get(version.name) as CompiledVersion;
  const names = status?.acceptedNames ?? spec.names;
  const hasStatus = version.subresources?.status !== undefined;
  const scale = scaleOf(version);
  const selectable = version.selectableFields ?? [];
  const isGoing = definition.metadata?.deletionTimestamp !== undefined;
  return {
    type: typeOf(definition, isConverted ? version.name : storage.name),
    singular: names.singular ?? '',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    model: modelOf(definition, version),
    listKind: spec.names.listKind ?? `${spec.names.kind}List`,
    custom: customForm(maker, version),
    decode: reader(typeOf(definition, version.name), own),
    hasStatus,
    hasGeneration: true,
    needsResourceVersion: true,
    nameRule: 'dnsSubdomain',
    ...(version.deprecated === true
      ? { deprecation: version.deprecationWarning ?? deprecationOf(spec, version) }
      : {}),
    ...(isGoing ? { closedBecause: GOING } : {}),
    ...(scale === undefined ? {} : { scale }),
    ...(selectable.length === 0 ? {} : { fields: fieldsOf(selectable.map(({ jsonPath }) => jsonPath)) }),
    definition: { source: definition, version: version.name },
    mayTakeLong: true,
    defaults: (draft) => fillIn(draft, own.schema),
    prepareForCreate: (draft) => {
      if (!hasStatus) return;
      delete (draft as Members)['status'];
      fillIn(draft, own.schema);
    },
    prepareForUpdate: (draft) => {
      const members = draft as Members;
      for (const name of Object.keys(members)) if (members[name] === undefined) delete members[name];
      fillIn(draft, own.schema);
    },
    validate: (object, old) => faultsOf(own, object, old),
    columns: columnsOf(version),
  };
}

function fillIn(draft: Draft<KubeObject>, schema: Structural): void {
  if (!fillDefaults(draft, schema))
    throw statusError('RequestEntityTooLarge', 'the defaults of its schema make the object too large');
}

const GOING = 'create not allowed while custom resource definition is terminating';

const modelOf = ({ spec, metadata }: Definition, { name }: Version) =>
  `${spec.group}/${name}/${spec.names.kind} ${metadata?.uid ?? ''} ${metadata?.generation ?? 0}`;

/** The newest of the versions that clients should use instead. */
function deprecationOf({ group, names, versions }: Definition['spec'], { name }: Version): string {
  const better = versions
    .filter(({ served, deprecated }) => served && deprecated !== true)
    .map((v) => v.name);
  const [newest] = better.sort(compareVersions);
  const lead = `${group}/${name} ${names.kind} is deprecated`;
  return newest !== undefined && compareVersions(newest, name) < 0
    ? `${lead}; use ${group}/${newest} ${names.kind}`
    : lead;
}

const KUBE_VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** Kubernetes' order: v2, v1, v1beta2, v1beta1, v1alpha1, then other names. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => KUBE_VERSION.exec(text));
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  const rank = (stage: string | undefined) => (stage === undefined ? 2 : stage === 'beta' ? 1 : 0);
  return (
    rank(right[2]) - rank(left[2]) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}

function customForm(maker: Maker, version: Version): CustomForm {
  const { definition, storage, compiled, currency, isConverted } = maker;
  const own = compiled.get(version.name) as CompiledVersion;
  const stored = compiled.get(storage.name) as CompiledVersion;
  const apiVersion = apiVersionOf(typeOf(definition, storage.name));
  return {
    get schema() {
      return own.schema;
    },
    // What a webhook converts is kept as it lies in the store.
    isCurrent: (revision, storedVersion) =>
      isConverted || (revision > currency.since && storedVersion() === apiVersion),
    current: (object) => {
      const fresh = inForm(object, stored.schema, apiVersion);
      return sameJson(fresh, object) ? undefined : fresh;
    },
  };
}

/** As a version has it: its fields and its defaults. */
function inForm(object: KubeObject, schema: Structural, apiVersion: string): KubeObject {
  const fresh = prunedResource(object as Members, schema, { paths: [] });
  fresh['apiVersion'] = apiVersion;
  fillDefaults(fresh, schema);
  return fresh as KubeObject;
}

/** Without a webhook all versions have the same fields; each shows those that it knows. */
function formOf(maker: Maker, version: Version): KindVersion {
  const { definition, storage, compiled } = maker;
  const own = compiled.get(version.name) as CompiledVersion;
  const type = typeOf(definition, version.name);
  const storedVersion = apiVersionOf(typeOf(definition, storage.name));
  return {
    type,
    model: modelOf(definition, version),
    custom: customForm(maker, version),
    decode: reader(type, own),
    toStored: (draft) => ({ ...draft, apiVersion: storedVersion }),
    fromStored: (object) => inForm(object, own.schema, apiVersionOf(type)),
  };
}

/** The body as an object of that version: pruned, with what was left out told. */
function reader(type: ResourceType, compiled: CompiledVersion): BodyReader<KubeObject> {
  const expected = apiVersionOf(type);
  const lead = `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}`;
  return (value, options) => {
    if (!isMembers(value)) throw statusError('BadRequest', `${lead}: the body is no object`);
    if (isTooDeep(value)) throw statusError('BadRequest', `${lead}: exceeded max depth`);
    requireType(type, value);
    try {
      const { schema } = compiled;
      const unknown = { paths: [] as string[] };
      const { apiVersion: _, kind: __, metadata, ...rest } = value;
      const meta = decodeModel<V1ObjectMeta>('V1ObjectMeta', metadata ?? {}, options);
      const body = prunedResource(rest, schema, unknown);
      const embedded = schema.hasEmbedded ? coerceEmbedded(body, schema) : [];
      const object = { apiVersion: expected, kind: type.kind, metadata: meta.object, ...body };
      const lost = meta.unknownFields.map((name) => `metadata.${name}`);
      return {
        object: object as Draft<KubeObject>,
        unknownFields: [...unknown.paths, ...embedded, ...lost].sort(),
      };
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause;
      throw statusError('BadRequest', `${lead}: ${cause.message}`, undefined, { cause });
    }
  };
}

const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

function faultsOf(compiled: CompiledVersion, object: KubeObject, old: KubeObject | undefined): Cause[] {
  const { schema, rules, version } = compiled;
  const causes = [
    ...compiled.validator.validate(object, old),
    ...scaleFaults(version, object),
    ...(schema.hasEmbedded ? checkEmbedded(object, schema) : []),
    ...(schema.hasKeyedLists && (old === undefined || checkListKeys(old, schema).length === 0)
      ? checkListKeys(object, schema)
      : []),
  ];
  if (rules === undefined) return causes;
  if (causes.some(({ reason }) => BLOCKING.has(reason ?? '')))
    return [
      ...causes,
      invalidValue(
        '<nil>',
        null,
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
      ),
    ];
  return [...causes, ...rules.evaluate(object, old, '')];
}
