// IngressClass: which controller serves an Ingress. Pure.
// Guarantees: the controller of a class never changes.
import {
  type Cause,
  checkImmutable,
  checkName,
  checkOneOf,
  forbiddenField,
  invalidValue,
  required,
} from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type { V1IngressClass, V1IngressClassParametersReference, V1ObjectMeta } from '../../gen/types.js';
import type { KindDefinition } from '../../kind.js';
import { dnsLabel, dnsSubdomain, pathSegment } from '../../names.js';
import { INGRESS_CLASSES } from '../../resources.js';

const MAX_CONTROLLER = 250;

export const ingressClassKind: KindDefinition<V1IngressClass> = {
  type: INGRESS_CLASSES,
  singular: 'ingressclass',
  shortNames: [],
  categories: [],
  model: 'V1IngressClass',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec?.parameters !== undefined) spec.parameters.scope ??= 'Cluster';
  },
  validate: ({ spec = {} }, old) => [
    ...validateController(spec.controller ?? ''),
    ...(spec.parameters === undefined ? [] : validateParameters(spec.parameters, 'spec.parameters')),
    ...(old === undefined
      ? []
      : checkImmutable(
          'spec.controller',
          'V1IngressClassSpec.controller',
          spec.controller,
          old.spec?.controller,
        )),
  ],
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) => `${metadata?.name ?? ''}${isDefault(metadata) ? ' (default)' : ''}`,
    },
    column('Controller', ({ spec }) => spec?.controller ?? '', { description: 'Who serves the class.' }),
    column('Parameters', parametersCell, { description: 'Where its settings are.' }),
    ageColumn,
  ],
};

const isDefault = (metadata: V1ObjectMeta | undefined): boolean =>
  metadata?.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true';

function parametersCell({ spec }: V1IngressClass): string {
  const { parameters } = spec ?? {};
  if (parameters === undefined) return '<none>';
  const { apiGroup, kind, name } = parameters;
  return apiGroup ? `${kind}.${apiGroup}/${name}` : `${kind}/${name}`;
}

/** A path below a domain: example.com/ingress. */
function validateController(controller: string): Cause[] {
  const at = 'spec.controller';
  if (controller.length > MAX_CONTROLLER)
    return [invalidValue(at, controller, `must be no more than ${MAX_CONTROLLER} bytes`)];
  const slash = controller.indexOf('/');
  if (controller === '') return [required(at)];
  if (slash <= 0 || slash === controller.length - 1)
    return [invalidValue(at, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  return checkName(at, controller.slice(0, slash), dnsSubdomain);
}

function validateParameters(
  { apiGroup, kind, name, namespace, scope }: V1IngressClassParametersReference,
  at: string,
): Cause[] {
  const causes: Cause[] = apiGroup ? checkName(`${at}.apiGroup`, apiGroup, dnsSubdomain) : [];
  causes.push(...(kind ? checkName(`${at}.kind`, kind, pathSegment) : [required(`${at}.kind`)]));
  causes.push(...(name ? checkName(`${at}.name`, name, pathSegment) : [required(`${at}.name`)]));
  if (scope === 'Namespace')
    causes.push(
      ...(namespace
        ? checkName(`${at}.namespace`, namespace, dnsLabel)
        : [required(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'")]),
    );
  else if (scope === 'Cluster' && namespace !== undefined)
    causes.push(forbiddenField(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'"));
  return [...causes, ...checkOneOf(`${at}.scope`, scope, ['Cluster', 'Namespace'])];
}
