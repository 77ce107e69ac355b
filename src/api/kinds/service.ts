// Service: one address for many pods. Pure; its address and node ports are allocated by the apiserver.
// Guarantees: what was allocated survives updates that do not mention it.
import type { V1Service } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { SERVICES } from '../resources.js';
import { serviceColumns } from './service/columns.js';
import { defaultService, prepareServiceUpdate } from './service/defaults.js';
import { validateService } from './service/validate.js';

export const serviceKind: KindDefinition<V1Service> = {
  type: SERVICES,
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  model: 'V1Service',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsLabel1035',
  defaults(draft) {
    draft.spec ??= {};
    defaultService(draft.spec);
  },
  prepareForCreate(draft) {
    draft.status = { loadBalancer: {} };
  },
  prepareForUpdate: prepareServiceUpdate,
  validate: ({ spec = {} }, old) => validateService(spec, old?.spec),
  columns: serviceColumns,
  fields: ({ spec }) => ({ 'spec.clusterIP': spec?.clusterIP ?? '', 'spec.type': spec?.type ?? '' }),
};
