// The catalog (Services, volumes) read from the informers of the kinds that the apiserver serves.
// Guarantees: every change of them is told, so that pods that wait for a volume or a Service look again.
import { keyOf } from '../api/object.js';
import {
  CSI_DRIVERS,
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SERVICES,
  STORAGE_CLASSES,
} from '../api/resources.js';
import { classOf } from '../api/volumeMatch.js';
import type { EventKind } from './events.js';
import type { OptionalKinds } from './optionalKinds.js';
import type { Catalog } from './snapshot/catalog.js';

export const CATALOG_KINDS = [
  SERVICES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  CSI_NODES,
  CSI_DRIVERS,
  CSI_STORAGE_CAPACITIES,
];

export function openCatalog(
  kinds: OptionalKinds,
  tell: (kind: EventKind) => void,
): { catalog: Catalog; stop(): void } {
  const services = kinds.of(SERVICES);
  const claims = kinds.of(PERSISTENT_VOLUME_CLAIMS);
  const volumes = kinds.of(PERSISTENT_VOLUMES);
  const classes = kinds.of(STORAGE_CLASSES);
  const csiNodes = kinds.of(CSI_NODES);
  const drivers = kinds.of(CSI_DRIVERS);
  const capacities = kinds.of(CSI_STORAGE_CAPACITIES);
  services?.index('namespace', ({ metadata }) => [metadata.namespace ?? '']);
  volumes?.index('class', (volume) => (volume.spec.claimRef === undefined ? [classOf(volume)] : []));
  volumes?.index('claim', ({ spec: { claimRef } }) =>
    claimRef?.name === undefined ? [] : [keyOf({ name: claimRef.name, namespace: claimRef.namespace })],
  );
  capacities?.index('class', ({ storageClassName }) => [storageClassName]);
  const telling = (kind: EventKind) => ({
    added: () => tell(kind),
    updated: () => tell(kind),
    deleted: () => tell(kind),
  });
  const stops = [
    services?.on(telling('service')),
    ...[claims, volumes, classes, csiNodes, drivers, capacities].map((informer) =>
      informer?.on(telling('volumes')),
    ),
  ];
  const catalog: Catalog = {
    services: (namespace) => services?.byIndex('namespace', namespace) ?? [],
    claim: (namespace, name) => claims?.get(keyOf({ namespace, name })),
    volume: (name) => volumes?.get(name),
    volumesOfClass: (name) => volumes?.byIndex('class', name) ?? [],
    volumesFor: (namespace, name) => volumes?.byIndex('claim', keyOf({ namespace, name })) ?? [],
    storageClass: (name) => classes?.get(name),
    csiNode: (name) => csiNodes?.get(name),
    tellsCapacity: (driver) => drivers?.get(driver)?.spec.storageCapacity === true,
    capacitiesOfClass: (name) => capacities?.byIndex('class', name) ?? [],
  };
  return {
    catalog,
    stop() {
      for (const stop of stops) stop?.();
    },
  };
}
