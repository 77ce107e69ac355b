// DaemonSet: one pod on every node that fits. Pure.
// Guarantees: a rolling update can make progress: either a pod may be missing or one may be too many, never both.
import { type Cause, checkNotNegative, invalidValue, notSupported } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1DaemonSet, V1DaemonSetUpdateStrategy } from '../gen/types.js';
import type { Column, Draft, KindDefinition } from '../kind.js';
import { sameMeaning } from '../meaning.js';
import { DAEMON_SETS } from '../resources.js';
import { formatLabels } from '../selectors.js';
import { isZero, validateIntOrPercent } from './intOrPercent.js';
import { defaultPodSpec } from './pod/defaults.js';
import { validateCounts } from './statusChecks.js';
import { templateColumns, validateWorkload } from './workload.js';

/** How often the template was changed: of Kubernetes' first DaemonSets, and still shown by its servers. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

const templateGeneration = ({ metadata }: Pick<V1DaemonSet, 'metadata'>): number =>
  Math.max(1, Number.parseInt(metadata?.annotations?.[TEMPLATE_GENERATION] ?? '', 10) || 1);

function setTemplateGeneration(draft: Draft<V1DaemonSet>, generation: number): void {
  draft.metadata ??= {};
  draft.metadata.annotations = { ...draft.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

export const daemonSetKind: KindDefinition<V1DaemonSet> = {
  type: DAEMON_SETS,
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  model: 'V1DaemonSet',
  hasStatus: true,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec === undefined) return;
    if (spec.template?.spec !== undefined) defaultPodSpec(spec.template.spec);
    spec.revisionHistoryLimit ??= 10;
    spec.updateStrategy ??= {};
    spec.updateStrategy.type ||= 'RollingUpdate';
    if (spec.updateStrategy.type !== 'RollingUpdate') return;
    spec.updateStrategy.rollingUpdate ??= {};
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
  },
  prepareForCreate(draft) {
    draft.status = {
      currentNumberScheduled: 0,
      desiredNumberScheduled: 0,
      numberMisscheduled: 0,
      numberReady: 0,
    };
    setTemplateGeneration(draft, templateGeneration(draft));
  },
  prepareForUpdate(draft, old) {
    const isSame = sameMeaning('V1PodTemplateSpec', draft.spec?.template, old.spec?.template);
    setTemplateGeneration(draft, templateGeneration(old) + (isSame ? 0 : 1));
  },
  validate: ({ spec, status }, old) => [
    ...validateCounts({ status }, old),
    ...validateWorkload(spec, old?.spec, 'daemonset', 'DaemonSet'),
    ...checkNotNegative('spec.revisionHistoryLimit', spec?.revisionHistoryLimit),
    ...(spec === undefined ? [] : validateStrategy(spec.updateStrategy ?? {}, 'spec.updateStrategy')),
  ],
  columns: [
    nameColumn,
    count('Desired', 'desiredNumberScheduled', 'How many nodes shall run its pod.'),
    count('Current', 'currentNumberScheduled', 'How many of those do.'),
    count('Ready', 'numberReady', 'How many of the pods are ready.'),
    count('Up-to-date', 'updatedNumberScheduled', 'How many have the newest template.'),
    count('Available', 'numberAvailable', 'How many have been ready long enough.'),
    column('Node Selector', ({ spec }) => formatLabels(spec?.template?.spec?.nodeSelector), {
      description: 'The labels of the nodes it is for.',
    }),
    ageColumn,
    ...templateColumns<V1DaemonSet>(),
  ],
};

type Counter =
  | 'desiredNumberScheduled'
  | 'currentNumberScheduled'
  | 'numberReady'
  | 'updatedNumberScheduled'
  | 'numberAvailable';

function count(name: string, field: Counter, description: string): Column<V1DaemonSet> {
  return column(name, ({ status }) => status?.[field] ?? 0, { type: 'integer', description });
}

function validateStrategy({ type, rollingUpdate }: V1DaemonSetUpdateStrategy, at: string): Cause[] {
  if (type === 'OnDelete') return [];
  if (type !== 'RollingUpdate')
    return [notSupported(`${at}.type`, type ?? '', ['RollingUpdate', 'OnDelete'])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const here = `${at}.rollingUpdate`;
  const causes = [
    ...validateIntOrPercent(maxUnavailable, `${here}.maxUnavailable`, { most: 100 }),
    ...validateIntOrPercent(maxSurge, `${here}.maxSurge`, { most: 100 }),
  ];
  if (causes.length > 0) return causes;
  if (isZero(maxUnavailable) && isZero(maxSurge))
    return [invalidValue(`${here}.maxUnavailable`, maxUnavailable, 'cannot be 0 when maxSurge is 0')];
  if (!isZero(maxUnavailable) && !isZero(maxSurge))
    return [invalidValue(`${here}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero')];
  return [];
}
