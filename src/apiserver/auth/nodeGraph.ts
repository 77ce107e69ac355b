// Which objects belong to which node: through the pods that are bound to it, and the volumes that those pods claim.
// Guarantees: a question is a few looks and no scan; an object that the server does not know belongs to nobody.
import type { V1ResourceSlice, V1VolumeAttachment } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject, Stored } from '../../api/object.js';
import {
  PERSISTENT_VOLUMES,
  PODS,
  RESOURCE_SLICES,
  type ResourceType,
  VOLUME_ATTACHMENTS,
} from '../../api/resources.js';
import type { Informer, Informers } from '../../client/informer.js';
import { placedPods } from './placedPods.js';
import type { ReferencedResource } from './podReferences.js';
import { type ClaimedVolume, claimedVolume } from './volumeReferences.js';

const BY_REFERENCE = 'node.reference';
const BY_SECRET = 'node.secret';

export interface GraphObject {
  readonly resource:
    | ReferencedResource
    | 'pods'
    | 'persistentvolumes'
    | 'volumeattachments'
    | 'resourceslices';
  readonly namespace: string;
  readonly name: string;
}

interface NodeGraph {
  belongs(object: GraphObject, nodeName: string): boolean;
}

/** A kind that is not served has no objects. */
export function makeNodeGraph(informers: Informers, kinds: readonly KindDefinition[]): NodeGraph {
  const isServed = (type: ResourceType) =>
    kinds.some((kind) => kind.type.group === type.group && kind.type.resource === type.resource);
  const pods = isServed(PODS) ? placedPods(informers) : undefined;
  const volumes = isServed(PERSISTENT_VOLUMES)
    ? informers.of(PERSISTENT_VOLUMES, { keep: claimedVolume })
    : undefined;
  const attachments = isServed(VOLUME_ATTACHMENTS)
    ? informers.of(VOLUME_ATTACHMENTS, { keep: attachedTo })
    : undefined;
  const slices = isServed(RESOURCE_SLICES) ? informers.of(RESOURCE_SLICES, { keep: sliceOf }) : undefined;
  pods?.index(BY_REFERENCE, ({ nodeName = '', references, metadata: { namespace = '' } }) =>
    references.map((reference) => edge(nodeName, namespace, reference)),
  );
  volumes?.index(BY_SECRET, ({ secrets }) => secrets);

  const isNamed = (object: GraphObject, nodeName: string) =>
    (pods?.byIndex(BY_REFERENCE, edge(nodeName, object.namespace, `${object.resource}/${object.name}`)) ?? [])
      .length > 0;
  const isClaimed = ({ claim = '' }: Stored<ClaimedVolume>, nodeName: string) => {
    const [namespace = '', name = ''] = claim.split('/');
    return name !== '' && isNamed({ resource: 'persistentvolumeclaims', namespace, name }, nodeName);
  };
  const isOn = (node: Informer<OnNode> | undefined, name: string, nodeName: string) =>
    node?.get(name)?.nodeName === nodeName;

  return {
    belongs(object, nodeName) {
      const { resource, namespace, name } = object;
      if (name === '') return false;
      switch (resource) {
        case 'pods':
          return pods?.get(`${namespace}/${name}`)?.nodeName === nodeName;
        case 'persistentvolumes': {
          const volume = volumes?.get(name);
          return volume !== undefined && isClaimed(volume, nodeName);
        }
        case 'volumeattachments':
          return isOn(attachments, name, nodeName);
        case 'resourceslices':
          return isOn(slices, name, nodeName);
        case 'secrets':
          return (
            isNamed(object, nodeName) ||
            (volumes?.byIndex(BY_SECRET, `${namespace}/${name}`) ?? []).some((one) =>
              isClaimed(one, nodeName),
            )
          );
        default:
          return isNamed(object, nodeName);
      }
    },
  };
}

interface OnNode extends KubeObject {
  readonly nodeName?: string;
}

const attachedTo = ({ metadata, spec }: Stored<V1VolumeAttachment>): Stored<OnNode> =>
  onNode(metadata, spec?.nodeName);
const sliceOf = ({ metadata, spec }: Stored<V1ResourceSlice>): Stored<OnNode> =>
  onNode(metadata, spec?.nodeName);

function onNode(metadata: Stored<KubeObject>['metadata'], nodeName: string | undefined): Stored<OnNode> {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const identity = { name, uid, resourceVersion, creationTimestamp };
  return { metadata: identity, ...(nodeName ? { nodeName } : {}) };
}

function edge(nodeName: string, namespace: string, reference: string): string {
  return `${nodeName}|${namespace}|${reference}`;
}
