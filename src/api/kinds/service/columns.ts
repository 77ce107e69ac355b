// What `kubectl get services` shows. Pure.
// Guarantees: an address that is still to come prints as <pending>, one that never will as <none>.
import { ageColumn, column, nameColumn, orNone } from '../../columns.js';
import type { V1Service } from '../../gen/types.js';
import type { Column } from '../../kind.js';
import { formatLabels } from '../../selectors.js';

function externalIp({ spec, status }: V1Service): string {
  const external = spec?.externalIPs ?? [];
  if (spec?.type === 'ExternalName') return spec.externalName ?? '';
  if (spec?.type !== 'LoadBalancer') return orNone(external.join(','));
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
  return [...ingress, ...external].join(',') || '<pending>';
}

function ports({ spec }: V1Service): string {
  const texts = (spec?.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return orNone(texts.join(','));
}

export const serviceColumns: readonly Column<V1Service>[] = [
  nameColumn,
  column('Type', ({ spec }) => spec?.type ?? '', { description: 'How the service is reached.' }),
  column('Cluster-IP', ({ spec }) => orNone(spec?.clusterIPs?.[0] ?? spec?.clusterIP), {
    description: 'Its address inside the cluster.',
  }),
  column('External-IP', externalIp, { description: 'Its addresses from outside.' }),
  column('Port(s)', ports, { description: 'Its ports, with the ports of the nodes that lead to them.' }),
  ageColumn,
  column('Selector', ({ spec }) => formatLabels(spec?.selector), {
    description: 'What finds its pods.',
    wide: true,
  }),
];
