// The RBAC kinds: rules by role, and who is bound to which role. Pure.
// Guarantees: a rule says what it allows and on what; a binding never changes the role it refers to.
import { type Cause, checkName, invalidValue, notSupported, required } from '../causes.js';
import { ageColumn, column, createdAtColumn, nameColumn } from '../columns.js';
import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1RoleRef,
} from '../gen/types.js';
import type { Column, Draft, KindDefinition } from '../kind.js';
import { sameMeaning } from '../meaning.js';
import { validateLabelSelector } from '../meta.js';
import { dnsSubdomain, pathSegment } from '../names.js';
import type { KubeObject } from '../object.js';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../resources.js';

const GROUP = 'rbac.authorization.k8s.io';

const common = {
  shortNames: [],
  categories: [],
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'pathSegment',
} as const;

export const roleKind: KindDefinition<V1Role> = {
  ...common,
  type: ROLES,
  createdByUpdate: true,
  singular: 'role',
  model: 'V1Role',
  validate: ({ rules = [] }) => validateRules(rules, { namespaced: true }),
  columns: [nameColumn, createdAtColumn],
};

export const clusterRoleKind: KindDefinition<V1ClusterRole> = {
  ...common,
  type: CLUSTER_ROLES,
  createdByUpdate: true,
  singular: 'clusterrole',
  model: 'V1ClusterRole',
  validate({ rules = [], aggregationRule }) {
    const selectors = aggregationRule?.clusterRoleSelectors;
    const field = 'aggregationRule.clusterRoleSelectors';
    const faults =
      aggregationRule !== undefined && (selectors ?? []).length === 0
        ? [required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil')]
        : [];
    const inner = (selectors ?? []).flatMap((selector, i) =>
      validateLabelSelector(selector, `${field}[${i}]`),
    );
    return [...validateRules(rules, { namespaced: false }), ...faults, ...inner];
  },
  columns: [nameColumn, createdAtColumn],
};

export const roleBindingKind: KindDefinition<V1RoleBinding> = {
  ...common,
  type: ROLE_BINDINGS,
  createdByUpdate: true,
  singular: 'rolebinding',
  model: 'V1RoleBinding',
  defaults: defaultBinding,
  validate: (object, old) => validateBinding(object, old, ['Role', 'ClusterRole']),
  columns: bindingColumns<V1RoleBinding>(),
};

export const clusterRoleBindingKind: KindDefinition<V1ClusterRoleBinding> = {
  ...common,
  type: CLUSTER_ROLE_BINDINGS,
  createdByUpdate: true,
  singular: 'clusterrolebinding',
  model: 'V1ClusterRoleBinding',
  defaults: defaultBinding,
  validate: (object, old) => validateBinding(object, old, ['ClusterRole']),
  columns: bindingColumns<V1ClusterRoleBinding>(),
};

interface Binding {
  readonly roleRef: V1RoleRef;
  readonly subjects?: readonly RbacV1Subject[] | undefined;
}

function defaultBinding(draft: Draft<Binding>): void {
  if (draft.roleRef !== undefined) draft.roleRef.apiGroup ||= GROUP;
  for (const subject of draft.subjects ?? [])
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= GROUP;
}

function validateRules(rules: readonly V1PolicyRule[], { namespaced }: { namespaced: boolean }): Cause[] {
  return rules.flatMap((rule, index) => {
    const at = `rules[${index}]`;
    const isEmpty = (list: readonly string[] | undefined) => (list ?? []).length === 0;
    const causes: Cause[] = [];
    if (isEmpty(rule.verbs)) causes.push(required(`${at}.verbs`, 'verbs must contain at least one value'));
    if (!isEmpty(rule.nonResourceURLs)) {
      if (namespaced)
        causes.push(
          invalidValue(
            `${at}.nonResourceURLs`,
            rule.nonResourceURLs,
            'namespaced rules cannot apply to non-resource URLs',
          ),
        );
      if (![rule.apiGroups, rule.resources, rule.resourceNames].every(isEmpty))
        causes.push(
          invalidValue(
            `${at}.nonResourceURLs`,
            rule.nonResourceURLs,
            'rules cannot apply to both regular resources and non-resource URLs',
          ),
        );
      return causes;
    }
    if (isEmpty(rule.apiGroups))
      causes.push(required(`${at}.apiGroups`, 'resource rules must supply at least one api group'));
    if (isEmpty(rule.resources))
      causes.push(required(`${at}.resources`, 'resource rules must supply at least one resource'));
    return causes;
  });
}

function validateBinding(object: Binding, old: Binding | undefined, kinds: readonly string[]): Cause[] {
  const { roleRef, subjects = [] } = object;
  const causes: Cause[] = [];
  if (roleRef?.apiGroup !== GROUP)
    causes.push(notSupported('roleRef.apiGroup', roleRef?.apiGroup ?? '', [GROUP]));
  if (!kinds.includes(roleRef?.kind ?? ''))
    causes.push(notSupported('roleRef.kind', roleRef?.kind ?? '', kinds));
  if (!roleRef?.name) causes.push(required('roleRef.name'));
  else causes.push(...checkName('roleRef.name', roleRef.name, pathSegment));
  if (old !== undefined && !sameMeaning('V1RoleRef', old.roleRef, roleRef))
    causes.push(invalidValue('roleRef', roleRef, 'cannot change roleRef'));
  return [...causes, ...subjects.flatMap((subject, index) => validateSubject(subject, `subjects[${index}]`))];
}

function validateSubject({ kind, name, namespace, apiGroup = '' }: RbacV1Subject, at: string): Cause[] {
  const causes: Cause[] = name ? [] : [required(`${at}.name`)];
  if (kind === 'ServiceAccount') {
    if (name) causes.push(...checkName(`${at}.name`, name, dnsSubdomain));
    if (apiGroup !== '') causes.push(notSupported(`${at}.apiGroup`, apiGroup, ['']));
    if (!namespace) causes.push(required(`${at}.namespace`));
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== GROUP) causes.push(notSupported(`${at}.apiGroup`, apiGroup, [GROUP]));
  } else causes.push(notSupported(`${at}.kind`, kind ?? '', ['ServiceAccount', 'User', 'Group']));
  return causes;
}

function bindingColumns<T extends Binding & KubeObject>(): Column<T>[] {
  const named = (kind: string) => (binding: T) =>
    (binding.subjects ?? [])
      .filter((subject) => subject.kind === kind)
      .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
      .join(', ');
  return [
    nameColumn,
    column('Role', ({ roleRef }: T) => `${roleRef.kind}/${roleRef.name}`, {
      description: 'The role that is granted.',
    }),
    ageColumn,
    column('Users', named('User'), { description: 'The users that get it.', wide: true }),
    column('Groups', named('Group'), { description: 'The groups that get it.', wide: true }),
    column('ServiceAccounts', named('ServiceAccount'), {
      description: 'The service accounts that get it.',
      wide: true,
    }),
  ];
}
