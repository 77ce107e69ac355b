// The types of the expression language: those of CEL, objects with the fields of a schema, and Kubernetes' own values.
// Guarantees: immutable; a bound of size that a schema states stays with its type and plays no part in comparing types.

export type CelType = ScalarType | ListType | MapType | ObjectType | OptionalType | ParamType;

export type ScalarKind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'timestamp'
  | 'duration'
  | 'type'
  | 'dyn'
  | 'Quantity'
  | 'URL'
  | 'IP'
  | 'CIDR'
  | 'Semver'
  | 'Format';

interface Sized {
  /** The most characters, bytes, items or entries that a value can have. */
  readonly maxSize?: number;
}

interface ScalarType extends Sized {
  readonly kind: ScalarKind;
}

export interface ListType extends Sized {
  readonly kind: 'list';
  readonly element: CelType;
  /** Lists whose order means nothing: of distinct items, or of objects known by these fields. */
  readonly identity?: 'set' | readonly string[];
}

export interface MapType extends Sized {
  readonly kind: 'map';
  readonly key: CelType;
  readonly value: CelType;
}

export interface ObjectType {
  readonly kind: 'object';
  readonly fields: ReadonlyMap<string, ObjectField>;
}

export interface ObjectField {
  readonly type: CelType;
  /** As it is called in JSON: names that are no identifiers are escaped in expressions. */
  readonly json: string;
}

interface OptionalType {
  readonly kind: 'optional';
  readonly of: CelType;
}

interface ParamType {
  readonly kind: 'param';
  readonly name: string;
}

const scalar = (kind: ScalarKind): ScalarType => Object.freeze({ kind });

export const BOOL = scalar('bool');
export const INT = scalar('int');
export const UINT = scalar('uint');
export const DOUBLE = scalar('double');
export const STRING = scalar('string');
export const BYTES = scalar('bytes');
export const NULL = scalar('null');
export const TYPE = scalar('type');
export const DYN = scalar('dyn');

export const listOf = (element: CelType): ListType => ({ kind: 'list', element });
export const mapOf = (key: CelType, value: CelType): MapType => ({ kind: 'map', key, value });
export const optionalOf = (of: CelType): OptionalType => ({ kind: 'optional', of });

const WELL_KNOWN: Partial<Record<ScalarKind, string>> = {
  null: 'null_type',
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
  Quantity: 'kubernetes.Quantity',
  URL: 'kubernetes.URL',
  IP: 'net.IP',
  CIDR: 'net.CIDR',
  Semver: 'kubernetes.Semver',
  Format: 'kubernetes.NamedFormat',
};

/** As messages name it. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.element)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case 'optional':
      return `optional_type(${formatType(type.of)})`;
    case 'object':
      return 'object';
    case 'param':
      return 'dyn';
    case 'timestamp':
    case 'duration':
      return type.kind;
    default:
      return typeName(type.kind);
  }
}

/** The name of `type(value)`. */
export const typeName = (kind: ScalarKind): string => WELL_KNOWN[kind] ?? kind;

/** What the parameters of a signature, or of a literal without items, stand for. */
export type Bindings = Map<string, CelType>;

const UNBOUND: ReadonlySet<string> = new Set(['param']);
export const isUnbound = ({ kind }: CelType): boolean => UNBOUND.has(kind);

/** Whether a value of the actual type may stand where the wanted one is asked for; binds the parameters of `wanted`. */
export function isAssignable(wanted: CelType, actual: CelType, bindings: Bindings): boolean {
  if (wanted.kind === 'param') return bind(wanted.name, actual, bindings);
  if (wanted.kind === 'dyn' || actual.kind === 'dyn' || actual.kind === 'param') return true;
  if (wanted.kind !== actual.kind) return false;
  switch (wanted.kind) {
    case 'list':
      return isAssignable(wanted.element, (actual as ListType).element, bindings);
    case 'map': {
      const { key, value } = actual as MapType;
      return isAssignable(wanted.key, key, bindings) && isAssignable(wanted.value, value, bindings);
    }
    case 'optional':
      return isAssignable(wanted.of, (actual as OptionalType).of, bindings);
    case 'object':
      return isSameObject(wanted, actual as ObjectType);
    default:
      return true;
  }
}

const isSameObject = (a: ObjectType, b: ObjectType) => a === b || a.fields === b.fields;

function bind(name: string, actual: CelType, bindings: Bindings): boolean {
  const before = bindings.get(name);
  if (before === undefined || isUnbound(before)) return bindings.set(name, actual) !== undefined;
  const joined = join(before, actual);
  if (joined === undefined) return false;
  bindings.set(name, joined);
  return true;
}

/** A type that both are, or undefined. Dynamic beside anything is dynamic. */
export function join(a: CelType, b: CelType): CelType | undefined {
  if (a === b || isUnbound(b)) return a;
  if (isUnbound(a)) return b;
  if (a.kind === 'dyn' || b.kind === 'dyn') return DYN;
  if (a.kind === 'list' && b.kind === 'list') {
    const element = join(a.element, b.element);
    return element && sized(listOf(element), a, b);
  }
  if (a.kind === 'map' && b.kind === 'map') {
    const [key, value] = [join(a.key, b.key), join(a.value, b.value)];
    return key && value && sized(mapOf(key, value), a, b);
  }
  if (a.kind === 'optional' && b.kind === 'optional') {
    const of = join(a.of, b.of);
    return of && optionalOf(of);
  }
  if (a.kind === 'object' && b.kind === 'object') return isSameObject(a, b) ? a : undefined;
  return a.kind === b.kind
    ? sized({ kind: a.kind } as ScalarType, a as ScalarType, b as ScalarType)
    : undefined;
}

function sized<T extends CelType>(type: T, a: Sized, b: Sized): T {
  if (a.maxSize === undefined || b.maxSize === undefined) return type;
  return { ...type, maxSize: Math.max(a.maxSize, b.maxSize) };
}

export function substitute(type: CelType, bindings: Bindings): CelType {
  switch (type.kind) {
    case 'param':
      return bindings.get(type.name) ?? type;
    case 'list':
      return listOf(substitute(type.element, bindings));
    case 'map':
      return mapOf(substitute(type.key, bindings), substitute(type.value, bindings));
    case 'optional':
      return optionalOf(substitute(type.of, bindings));
    default:
      return type;
  }
}
