// One version of a definition: its schema, subresources, columns and selectable fields. Pure.
// Guarantees: Kubernetes' rules and sentences; what passes can be compiled and served.
import { type Cause, duplicate, forbiddenField, invalidValue, required, tooMany } from '../../causes.js';
import type { V1CustomResourceDefinitionVersion, V1CustomResourceSubresources } from '../../gen/types.js';
import { checkDefaults } from '../../structural/defaultValues.js';
import { parseJsonPath } from '../../structural/jsonPath.js';
import { checkOpenApiSchema } from '../../structural/openApiSchema.js';
import { type JsonSchema, structural } from '../../structural/schema.js';
import { checkStructural } from '../../structural/structure.js';

type Version = V1CustomResourceDefinitionVersion;

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = [
  'binary',
  'bool',
  'byte',
  'date',
  'date-time',
  'double',
  'float',
  'int32',
  'int64',
  'password',
];
const MOST_SELECTABLE = 8;
/** What a schema may say at its root when the status is a subresource: the status is judged without the rest. */
const AT_ROOT = new Set(
  'description type format title maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems multipleOf required items properties externalDocs example x-kubernetes-preserve-unknown-fields x-kubernetes-validations'.split(
    ' ',
  ),
);
const AT_ROOT_TEXT =
  '[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]';

/** `isUnchanged`: its schema was let in before, so only what it refers to is checked. */
export function checkVersion(version: Version, path: string, isUnchanged: boolean): Cause[] {
  const schema = version.schema?.openAPIV3Schema;
  return [
    ...deprecationFaults(version, path),
    ...(schema === undefined || isUnchanged
      ? []
      : schemaFaults(schema, `${path}.schema.openAPIV3Schema`, version.subresources?.status !== undefined)),
    ...scaleFaults(version.subresources, `${path}.subresources`),
    ...columnFaults(version, path),
    ...selectableFaults(version, path),
  ];
}

function deprecationFaults({ deprecated = false, deprecationWarning: text }: Version, path: string): Cause[] {
  if (text === undefined) return [];
  const faults: string[] = [];
  if (!deprecated) faults.push('can only be set for deprecated versions');
  else {
    if (text.length > 256) faults.push('must be <= 256 characters long');
    if (text === '') faults.push('must not be an empty string');
    const at = text.search(/[^\P{C}]/u);
    if (at !== -1)
      faults.push(
        `must only contain printable UTF-8 characters; non-printable character found at index ${at}`,
      );
  }
  return faults.map((why) => invalidValue(`${path}.deprecationWarning`, text, why));
}

function schemaFaults(schema: JsonSchema, path: string, hasStatus: boolean): Cause[] {
  const causes: Cause[] = [];
  if (hasStatus) causes.push(...rootFaults(schema, path));
  if (schema.nullable === true)
    causes.push(forbiddenField(`${path}.nullable`, 'nullable cannot be true at the root'));
  const structure = checkStructural(schema, path);
  causes.push(...(structure.length > 0 ? structure : checkDefaults(structural(schema), path)));
  return [...causes, ...checkOpenApiSchema(schema, path)];
}

function rootFaults(schema: JsonSchema, path: string): Cause[] {
  if (schema.type !== undefined && schema.type !== 'object')
    return [
      invalidValue(
        `${path}.type`,
        schema.type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ),
    ];
  const isAllowed = Object.keys(schema).every((name) => AT_ROOT.has(name));
  const why = `only ${AT_ROOT_TEXT} fields are allowed at the root of the schema if the status subresource is enabled`;
  return isAllowed ? [] : [invalidValue(path, schema, why)];
}

function pathFaults(text: string, field: string): Cause[] {
  return text.startsWith('.')
    ? []
    : [invalidValue(field, text, 'must be a simple json path starting with .')];
}

function scaleFaults(subresources: V1CustomResourceSubresources | undefined, path: string): Cause[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const under = (name: string, text: string, roots: readonly string[], why: string): Cause[] => {
    const field = `${path}.scale.${name}`;
    if (text === '') return [required(field)];
    const faults = pathFaults(text, field);
    if (faults.length > 0) return faults;
    return roots.some((root) => text.startsWith(`.${root}.`)) ? [] : [invalidValue(field, text, why)];
  };
  const { specReplicasPath: wanted = '', statusReplicasPath: held = '', labelSelectorPath: selector } = scale;
  return [
    ...under('specReplicasPath', wanted, ['spec'], 'should be a json path under .spec'),
    ...under('statusReplicasPath', held, ['status'], 'should be a json path under .status'),
    ...(selector === undefined || selector === ''
      ? []
      : under(
          'labelSelectorPath',
          selector,
          ['spec', 'status'],
          'should be a json path under either .spec or .status',
        )),
  ];
}

function columnFaults({ additionalPrinterColumns: columns = [] }: Version, path: string): Cause[] {
  return columns.flatMap(({ name = '', type = '', format = '', jsonPath = '' }, index) => {
    const at = `${path}.additionalPrinterColumns[${index}]`;
    const types = `must be one of ${COLUMN_TYPES.join(',')}`;
    const causes: Cause[] = [];
    if (name === '') causes.push(required(`${at}.name`));
    if (type === '') causes.push(required(`${at}.type`, types));
    else if (!COLUMN_TYPES.includes(type)) causes.push(invalidValue(`${at}.type`, type, types));
    if (format !== '' && !COLUMN_FORMATS.includes(format))
      causes.push(invalidValue(`${at}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
    if (jsonPath === '') causes.push(required(`${at}.JSONPath`));
    else causes.push(...columnPathFaults(jsonPath, `${at}.JSONPath`));
    return causes;
  });
}

function columnPathFaults(text: string, field: string): Cause[] {
  const faults = pathFaults(text, field);
  if (faults.length > 0) return faults;
  try {
    parseJsonPath(text);
    return [];
  } catch (error) {
    return [invalidValue(field, text, `must be a json path: ${(error as Error).message}`)];
  }
}

function selectableFaults(version: Version, path: string): Cause[] {
  const fields = version.selectableFields ?? [];
  const root = version.schema?.openAPIV3Schema;
  const at = `${path}.selectableFields`;
  if (fields.length === 0) return [];
  if (root === undefined)
    return [invalidValue(at, '', 'may only be set when `version.schema.openAPIV3Schema` is not included')];
  const seen = new Set<string>();
  const causes = fields.flatMap(({ jsonPath = '' }, index) => {
    const field = `${at}[${index}].jsonPath`;
    if (jsonPath === '') return [required(field)];
    const found = schemaAt(root, jsonPath);
    if (typeof found === 'string') return [invalidValue(field, jsonPath, `is an invalid path: ${found}`)];
    const faults: Cause[] = [];
    if (jsonPath.startsWith('.metadata'))
      faults.push(invalidValue(field, jsonPath, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(found.type ?? ''))
      faults.push(
        invalidValue(
          field,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      );
    if (seen.has(jsonPath)) faults.push(duplicate(field, jsonPath));
    seen.add(jsonPath);
    return faults;
  });
  return seen.size > MOST_SELECTABLE ? [...causes, tooMany(at, seen.size, MOST_SELECTABLE)] : causes;
}

/** The schema of a plain path of names; a sentence when there is none. */
function schemaAt(root: JsonSchema, path: string): JsonSchema | string {
  if (!/^(\.[A-Za-z_][-A-Za-z0-9_]*)+$/.test(path)) return `expected a field name in ${JSON.stringify(path)}`;
  let schema = root;
  for (const name of path.slice(1).split('.')) {
    const next = Object.hasOwn(schema.properties ?? {}, name) ? schema.properties?.[name] : undefined;
    if (next === undefined) return `does not refer to a valid field`;
    schema = next;
  }
  return schema;
}
