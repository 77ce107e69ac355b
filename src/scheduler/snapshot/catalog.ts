// What plugins may look up beside nodes and pods: Services, volumes and what they are made by.
// Guarantees: reading is a look into a local copy; a kind that the apiserver does not have is simply empty.
import type {
  V1CSINode,
  V1CSIStorageCapacity,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Service,
  V1StorageClass,
} from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';

export type Claim = Stored<V1PersistentVolumeClaim>;
export type Volume = Stored<V1PersistentVolume>;

export interface Catalog {
  services(namespace: string): readonly Stored<V1Service>[];
  claim(namespace: string, name: string): Claim | undefined;
  volume(name: string): Volume | undefined;
  volumesOfClass(storageClassName: string): readonly Volume[];
  /** Those that somebody reserved for a claim of that name. */
  volumesFor(namespace: string, claim: string): readonly Volume[];
  storageClass(name: string): Stored<V1StorageClass> | undefined;
  csiNode(name: string): Stored<V1CSINode> | undefined;
  /** Whether a driver tells how much room its storage has. */
  tellsCapacity(driver: string): boolean;
  capacitiesOfClass(storageClassName: string): readonly Stored<V1CSIStorageCapacity>[];
}

export const emptyCatalog: Catalog = {
  services: () => [],
  claim: () => undefined,
  volume: () => undefined,
  volumesOfClass: () => [],
  volumesFor: () => [],
  storageClass: () => undefined,
  csiNode: () => undefined,
  tellsCapacity: () => false,
  capacitiesOfClass: () => [],
};
