// The default policy as text, beside that of Kubernetes v1.36 with our own few lines: every role and binding, and what each
// identity may do by them, as `kubectl auth can-i --list` would tell it.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { RbacV1Subject, V1PolicyRule } from '../../../../src/api/gen/types.js';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../../../../src/api/resources.js';
import {
  bootstrapBindings,
  bootstrapNamespaceBindings,
  bootstrapNamespaceRoles,
  bootstrapRoles,
} from '../../../../src/apiserver/auth/bootstrapRoles.js';
import { makeRbacAuthorizer } from '../../../../src/apiserver/auth/rbacAuthorizer.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const AGGREGATE = 'rbac.authorization.k8s.io/';
const golden = (name: string) => readFile(new URL(`golden/${name}.txt`, import.meta.url), 'utf8');
const textOf = (sections: readonly (readonly string[])[]) =>
  `${sections
    .map((lines) => lines.join('\n'))
    .sort()
    .join('\n')}\n`;
const nameOf = ({ kind, namespace, name }: RbacV1Subject) =>
  kind === 'ServiceAccount' ? `system:serviceaccount:${namespace}:${name}` : name;

/** One line a thing, with all the verbs that the rules give on it. */
function linesOf(rules: readonly V1PolicyRule[]): string[] {
  const verbs = new Map<string, Set<string>>();
  for (const rule of rules) {
    const things = (rule.apiGroups ?? []).flatMap((group) =>
      (rule.resources ?? []).flatMap((resource) =>
        (rule.resourceNames ?? ['']).map((name) =>
          `${group === '' ? resource : `${resource}.${group}`} ${name}`.trim(),
        ),
      ),
    );
    for (const thing of [...(rule.nonResourceURLs ?? []), ...things])
      verbs.set(thing, new Set([...(verbs.get(thing) ?? []), ...rule.verbs]));
  }
  return [...verbs].map(([thing, given]) => `  ${thing}: ${[...given].sort().join(' ')}`).sort();
}

test('has every role and binding of Kubernetes, and our own beside them', async () => {
  const labelsOf = (labels: Readonly<Record<string, string>> = {}) =>
    Object.keys(labels)
      .filter((label) => label.startsWith(AGGREGATE))
      .map((label) => ` ${label.slice(AGGREGATE.length)}`)
      .join('');
  const roles = [...bootstrapRoles, ...bootstrapNamespaceRoles].map(({ kind, metadata, rules }) => {
    const { namespace, name, labels } = metadata ?? {};
    const where = namespace === undefined ? '' : `${namespace}/`;
    return [`${kind} ${where}${name}${labelsOf(labels)}`, ...linesOf(rules ?? [])];
  });
  const bindings = [...bootstrapBindings, ...bootstrapNamespaceBindings].map(
    ({ kind, metadata, roleRef, subjects }) => {
      const where = metadata?.namespace === undefined ? '' : `${metadata.namespace}/`;
      const whom = (subjects ?? []).map(nameOf).sort().join(' ') || 'nobody';
      return [`${kind} ${where}${metadata?.name}: ${roleRef.kind} ${roleRef.name} to ${whom}`];
    },
  );
  expect(textOf([...roles, ...bindings])).toBe(await golden('policy'));
});

test('is labelled and annotated as what is reconciled at each start', () => {
  for (const { metadata } of [
    ...bootstrapRoles,
    ...bootstrapNamespaceRoles,
    ...bootstrapBindings,
    ...bootstrapNamespaceBindings,
  ])
    expect(metadata).toMatchObject({
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
    });
});

test('gives each identity what it needs and no more', async () => {
  const informers = new StaticInformers();
  for (const role of bootstrapRoles) informers.of(CLUSTER_ROLES).set(role);
  for (const role of bootstrapNamespaceRoles) informers.of(ROLES).set(role);
  for (const binding of bootstrapBindings) informers.of(CLUSTER_ROLE_BINDINGS).set(binding);
  for (const binding of bootstrapNamespaceBindings) informers.of(ROLE_BINDINGS).set(binding);
  const rbac = makeRbacAuthorizer(informers);
  const named = (bindings: typeof bootstrapNamespaceBindings) =>
    bindings.flatMap(({ subjects, metadata }) =>
      (subjects ?? [])
        .filter(({ kind }) => kind !== 'Group')
        .map((subject) => ({ name: nameOf(subject), namespace: metadata?.namespace ?? '' })),
    );
  const all = [...named(bootstrapBindings), ...named(bootstrapNamespaceBindings)];
  const places = new Map(
    all.flatMap(({ name, namespace }) => [
      [name, { name, namespace: '' }] as const,
      [`${name}${namespace === '' ? '' : ` in ${namespace}`}`, { name, namespace }] as const,
    ]),
  );
  const told = [...places].map(([title, { name, namespace }]) => [
    title,
    ...linesOf(rbac.rulesFor({ name, groups: [] }, namespace)),
  ]);
  expect(textOf(told)).toBe(await golden('identities'));
});
