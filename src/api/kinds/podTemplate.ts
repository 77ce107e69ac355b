// PodTemplate: a pod to be made later, kept by name. Pure.
// Guarantees: what it holds could be made a pod as it is.
import { column, nameColumn } from '../columns.js';
import type { V1PodTemplate } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { POD_TEMPLATES } from '../resources.js';
import { formatLabels } from '../selectors.js';
import { defaultPodSpec } from './pod/defaults.js';
import { validateTemplate } from './pod/validate.js';
import { containerColumns } from './workload.js';

export const podTemplateKind: KindDefinition<V1PodTemplate> = {
  type: POD_TEMPLATES,
  singular: 'podtemplate',
  shortNames: [],
  categories: [],
  model: 'V1PodTemplate',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ template }) {
    if (template?.spec !== undefined) defaultPodSpec(template.spec);
  },
  validate: ({ template }) => validateTemplate(template, 'template'),
  columns: [
    nameColumn,
    ...containerColumns<V1PodTemplate>(({ template }) => template, { wide: false }),
    column('Pod Labels', ({ template }) => formatLabels(template?.metadata?.labels), {
      description: 'The labels that its pods get.',
    }),
  ],
};
