// What the controllers of equal pods have in common: replicas of a pod template, found by a selector. Pure.
// Guarantees: the selector finds the template's pods and never changes.
import { type Cause, checkImmutable, checkNotNegative, invalidValue, required } from '../causes.js';
import { column } from '../columns.js';
import type { V1Container, V1LabelSelector, V1PodTemplateSpec } from '../gen/types.js';
import type { Column, Draft, ScaleFields } from '../kind.js';
import { validateLabelSelector } from '../meta.js';
import type { KubeObject } from '../object.js';
import { compileLabelSelector, formatLabelSelector, labelSelectorString } from '../selectors.js';
import { defaultPodSpec } from './pod/defaults.js';
import { validatePodTemplate } from './pod/validate.js';

interface WorkloadSpec {
  readonly replicas?: number | undefined;
  readonly minReadySeconds?: number | undefined;
  readonly selector: V1LabelSelector;
  readonly template?: V1PodTemplateSpec | undefined;
}

interface Workload extends KubeObject {
  readonly spec?: WorkloadSpec | undefined;
  readonly status?: { readonly replicas?: number | undefined } | undefined;
}

export function defaultWorkload(spec: Draft<WorkloadSpec>): void {
  spec.replicas ??= 1;
  if (spec.template?.spec !== undefined) defaultPodSpec(spec.template.spec);
}

/** `word` is the kind as the sentence about an empty selector has it, `owner` as the one about deadlines does. */
export function validateWorkload(
  spec: WorkloadSpec | undefined,
  old: WorkloadSpec | undefined,
  word: string,
  owner?: string,
): Cause[] {
  const { selector, template, replicas, minReadySeconds } = spec ?? {};
  const causes = [
    ...checkNotNegative('spec.replicas', replicas),
    ...checkNotNegative('spec.minReadySeconds', minReadySeconds),
    ...validateSelector(selector, template, word),
    ...validatePodTemplate(template, 'spec.template', owner),
  ];
  if (old === undefined) return causes;
  return [...causes, ...checkImmutable('spec.selector', 'V1DeploymentSpec.selector', selector, old.selector)];
}

function validateSelector(
  selector: V1LabelSelector | undefined,
  template: V1PodTemplateSpec | undefined,
  word: string,
): Cause[] {
  if (selector === undefined) return [required('spec.selector')];
  const faults = validateLabelSelector(selector, 'spec.selector');
  if (faults.length > 0) return faults;
  if (labelSelectorString(selector) === '')
    return [invalidValue('spec.selector', selector, `empty selector is invalid for ${word}`)];
  const labels = template?.metadata?.labels ?? {};
  return compileLabelSelector(selector)(labels)
    ? []
    : [invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')];
}

export function workloadScale<T extends Workload>(): ScaleFields<T> {
  return {
    replicas: ({ spec }) => spec?.replicas ?? 0,
    replicasPath: '.spec.replicas',
    statusReplicas: ({ status }) => status?.replicas ?? 0,
    selector: ({ spec }) => labelSelectorString(spec?.selector),
    setReplicas(draft, replicas) {
      const { spec } = draft as Draft<Workload>;
      if (spec !== undefined) spec.replicas = replicas;
    },
  };
}

interface Replicated {
  readonly spec?: { readonly replicas?: number | undefined } | undefined;
  readonly status?: { readonly replicas: number; readonly readyReplicas?: number | undefined } | undefined;
}

/** How many pods of an object there shall be, are, and are ready. */
export const replicaColumns = <T extends Replicated>(): Column<T>[] => [
  column('Desired', ({ spec }) => spec?.replicas ?? 0, {
    type: 'integer',
    description: 'How many pods it shall have.',
  }),
  column('Current', ({ status }) => status?.replicas ?? 0, {
    type: 'integer',
    description: 'How many pods it has.',
  }),
  column('Ready', ({ status }) => status?.readyReplicas ?? 0, {
    type: 'integer',
    description: 'How many are ready.',
  }),
];

/** The wide columns. */
export function templateColumns<T extends Pick<Workload, 'spec'>>(): Column<T>[] {
  return [
    ...containerColumns<T>(({ spec }) => spec?.template),
    selectorColumn<T>(({ spec }) => formatLabelSelector(spec?.selector)),
  ];
}

export function containerColumns<T>(
  templateOf: (object: T) => V1PodTemplateSpec | undefined,
  { wide = true }: { readonly wide?: boolean } = {},
): Column<T>[] {
  const join = (object: T, text: (container: V1Container) => string) =>
    (templateOf(object)?.spec?.containers ?? []).map(text).join(',');
  return [
    column('Containers', (object: T) => join(object, ({ name }) => name), {
      description: 'The names of the containers of its pods.',
      wide,
    }),
    column('Images', (object: T) => join(object, ({ image }) => image ?? ''), {
      description: 'The images of those containers.',
      wide,
    }),
  ];
}

export function selectorColumn<T>(cell: (object: T) => string): Column<T> {
  return column('Selector', cell, { description: 'What finds its pods.', wide: true });
}
