// RuntimeClass: another way for the runtime to run a pod, and what it costs. Pure.
// Guarantees: the handler behind a name never changes.
import { type Cause, checkImmutable, checkRequiredName } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1RuntimeClass } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { validateLabels } from '../meta.js';
import { dnsLabel } from '../names.js';
import { RUNTIME_CLASSES } from '../resources.js';
import { validateResources } from './pod/resources.js';
import { validateToleration } from './pod/tolerations.js';

export const runtimeClassKind: KindDefinition<V1RuntimeClass> = {
  type: RUNTIME_CLASSES,
  needsResourceVersion: true,
  createdByUpdate: true,
  singular: 'runtimeclass',
  shortNames: [],
  categories: [],
  model: 'V1RuntimeClass',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  validate: (object, old) => [
    ...checkRequiredName('handler', object.handler, dnsLabel),
    ...validateOverhead(object),
    ...validateLabels(object.scheduling?.nodeSelector, 'scheduling.nodeSelector'),
    ...(object.scheduling?.tolerations ?? []).flatMap((some, index) =>
      validateToleration(some, `scheduling.tolerations[${index}]`),
    ),
    ...(old === undefined
      ? []
      : checkImmutable('handler', 'V1RuntimeClass.handler', object.handler, old.handler)),
  ],
  columns: [
    nameColumn,
    column('Handler', ({ handler }) => handler, { description: "The runtime's name for it." }),
    ageColumn,
  ],
};

function validateOverhead({ overhead }: V1RuntimeClass): Cause[] {
  return validateResources({ limits: overhead?.podFixed ?? {} }, 'overhead.podFixed').map((cause) => ({
    ...cause,
    field: cause.field?.replace('overhead.podFixed.limits', 'overhead.podFixed'),
  }));
}
