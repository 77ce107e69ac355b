// ControllerRevision: a past state of a StatefulSet or DaemonSet, kept so that one can go back to it. Pure.
// Guarantees: the state never changes once written.
import { checkImmutable, checkNotNegative, required } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1ControllerRevision } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { controllerOf } from '../object.js';
import { CONTROLLER_REVISIONS } from '../resources.js';

export const controllerRevisionKind: KindDefinition<V1ControllerRevision> = {
  type: CONTROLLER_REVISIONS,
  singular: 'controllerrevision',
  shortNames: [],
  categories: [],
  model: 'V1ControllerRevision',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.revision ??= 0;
  },
  validate: ({ data, revision }, old) => [
    ...(data === undefined ? [required('data', 'data is mandatory')] : []),
    ...checkNotNegative('revision', revision),
    ...(old === undefined ? [] : checkImmutable('data', 'V1ControllerRevision.data', data, old.data)),
  ],
  columns: [
    nameColumn,
    column('Controller', controllerCell, { description: 'What it is a state of.' }),
    column('Revision', ({ revision }) => revision ?? 0, {
      description: 'Its number; the newest is the largest.',
    }),
    ageColumn,
  ],
};

function controllerCell(object: V1ControllerRevision): string {
  const owner = controllerOf(object);
  if (owner === undefined) return '<none>';
  const group = owner.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0]}` : '';
  const kind = `${owner.kind}${group}`.toLowerCase();
  return `${kind}/${owner.name}`;
}
