// Service: one address for many pods. Pure; its address and node ports are allocated by the apiserver.
// Guarantees: what was allocated survives updates that do not mention it.
import { type Cause, forbiddenField } from '../causes.js';
import type { V1Service } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { SERVICES } from '../resources.js';
import { serviceColumns } from './service/columns.js';
import { defaultService, prepareServiceUpdate } from './service/defaults.js';
import { validateService } from './service/validate.js';
import { serviceWarnings } from './service/warnings.js';
import { isNewStatus, validateIngresses } from './statusChecks.js';

export const serviceKind: KindDefinition<V1Service> = {
  type: SERVICES,
  createdByUpdate: true,
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  model: 'V1Service',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsLabel',
  defaults(draft) {
    draft.spec ??= {};
    defaultService(draft.spec);
    if (draft.spec.type !== 'LoadBalancer') return;
    for (const ingress of draft.status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP';
  },
  prepareForCreate(draft) {
    draft.status = { loadBalancer: {} };
  },
  prepareForUpdate: prepareServiceUpdate,
  validate: (service, old) => [
    ...validateService(service.spec ?? {}, old?.spec),
    ...(isNewStatus(service, old) ? validateBalancer(service) : []),
  ],
  warnings: serviceWarnings,
  columns: serviceColumns,
  fields: ({ spec }) => ({ 'spec.clusterIP': spec?.clusterIP ?? '', 'spec.type': spec?.type ?? '' }),
};

function validateBalancer({ spec, status }: V1Service): Cause[] {
  const { ingress = [] } = status?.loadBalancer ?? {};
  if (ingress.length > 0 && spec?.type !== 'LoadBalancer') {
    const why = "may only be used when `spec.type` is 'LoadBalancer'";
    return [forbiddenField('status.loadBalancer.ingress', why)];
  }
  return validateIngresses(ingress, { hasModes: true });
}
