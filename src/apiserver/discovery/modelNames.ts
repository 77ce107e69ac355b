// The names that models have in Kubernetes' OpenAPI documents: io.k8s.api.core.v1.Pod for V1Pod. Pure.
// Guarantees: one model has one name and no two share one; clients show the last part as the type.
import { schemas } from '../../api/gen/schemas.js';
import type { Form } from './openapiModels.js';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const META_MODELS = new Set([
  'V1APIGroup',
  'V1APIResource',
  'V1Condition',
  'V1DeleteOptions',
  'V1FieldSelectorRequirement',
  'V1LabelSelector',
  'V1LabelSelectorRequirement',
  'V1ListMeta',
  'V1ManagedFieldsEntry',
  'V1ObjectMeta',
  'V1OwnerReference',
  'V1Preconditions',
  'V1Status',
  'V1StatusCause',
  'V1StatusDetails',
]);

/** Of groups whose types are not with the others. */
const PACKAGES: Readonly<Record<string, string>> = {
  'apiextensions.k8s.io': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
};

function packageOf(group: string): string {
  return PACKAGES[group] ?? `io.k8s.api.${group === '' ? 'core' : group.split('.')[0]}`;
}

/** Every model that the kinds reach, with its name. A model that several groups use is named by the first: core. */
export function modelNames(kinds: readonly Form[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const byGroup = [...kinds].sort((a, b) => (a.type.group < b.type.group ? -1 : 1));
  for (const { model, type } of byGroup) {
    visit(model, packageOf(type.group), names);
  }
  // No kind reaches it, but the lists of custom kinds do.
  visit('V1ListMeta', META, names);
  return names;
}

function visit(model: string, group: string, names: Map<string, string>): void {
  const schema = schemas[model];
  if (schema === undefined || names.has(model)) return;
  names.set(model, nameOf(model, group));
  for (const code of Object.values(schema)) visit(modelIn(code), group, names);
}

function nameOf(model: string, group: string): string {
  // CoreV1Event and EventsV1Event carry their group where two groups share a name.
  const [, , version = 'V1', name = model] =
    /^([A-Z][a-z]+)?(V\d+(?:(?:alpha|beta)\d+)?)(.+)$/.exec(model) ?? [];
  return META_MODELS.has(model) ? `${META}.${name}` : `${group}.${version.toLowerCase()}.${name}`;
}

/** The model that a field's code is made of; other codes are no model. */
export const modelIn = (code: string): string => code.replace(/^!?(\[\]|\{\})*/, '');
