// A volume that lives in a zone can only be used there. Pure.
import { type Plugin, simpleFilter } from '../plugin.js';
import { boundVolumes } from './claims.js';

const TOPOLOGY = [
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
];

export const volumeZone: Plugin = {
  name: 'VolumeZone',
  wokenBy: ['volumes', 'node added', 'node labels'],
  filter(pod, { catalog, labels }) {
    if ((pod.spec.volumes ?? []).length === 0) return undefined;
    const wanted = boundVolumes(pod, catalog).flatMap(({ metadata }) =>
      TOPOLOGY.flatMap((key) => {
        const value = metadata.labels?.[key];
        if (value === undefined) return [];
        const { ids, numbers } = labels.of(key);
        // A volume of several zones names them with two underscores between.
        return [{ ids, allowed: new Set(value.split('__').map((one) => numbers.get(one) ?? -1)) }];
      }),
    );
    if (wanted.length === 0) return undefined;
    const zones = TOPOLOGY.map((key) => labels.of(key).ids);
    // Nodes that know nothing of zones are not held to them.
    return simpleFilter(
      (slot) =>
        zones.some((ids) => ids[slot] !== 0) &&
        wanted.some(({ ids, allowed }) => !allowed.has(ids[slot] ?? 0)),
      'node(s) had no available volume zone',
      { final: true },
    );
  },
};
