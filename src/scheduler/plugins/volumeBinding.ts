// Pods go where their volumes can be reached; volumes that wait for a pod are chosen, or made, with its node. Pure.
// Guarantees: a claim that nobody made, or that is bound to nothing, keeps its pod waiting and says so.
import type { NodeFilter, Plugin, Refused } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import type { Claim } from '../snapshot/catalog.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { claimNames, isBound, waitsForNode } from './claims.js';
import { nodesOfVolume, nodesWithRoom, provisionableNodes, volumesFor } from './volumeMatching.js';

export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** What is to be written before the pod may be bound. */
export interface VolumePlan {
  readonly bindings: readonly { readonly volume: string; readonly claim: Claim }[];
  /** Claims whose volume is to be made for the node. */
  readonly provisions: readonly Claim[];
}

const REASONS = [
  [],
  ["node(s) didn't match PersistentVolume's node affinity"],
  ["node(s) didn't find available persistent volumes to bind"],
  ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'],
  ['node(s) did not have enough free storage'],
] as const;

export const volumeBinding: Plugin = {
  name: 'VolumeBinding',
  wokenBy: ['volumes', 'node added', 'node labels'],
  filter(pod, snapshot): NodeFilter | Refused | undefined {
    const claims = claimsOf(pod, snapshot);
    if ('refused' in claims) return claims;
    if (claims.bound.length + claims.delayed.length === 0) return undefined;
    const volumes = claims.bound.map(({ spec }) => snapshot.catalog.volume(spec.volumeName ?? ''));
    const reachable = volumes.map((volume) =>
      volume === undefined ? undefined : (nodesOfVolume(volume, snapshot) ?? (() => true)),
    );
    const plans = claims.delayed.length === 0 ? undefined : plannerFor(claims.delayed, snapshot);
    return {
      test(slot) {
        for (const matches of reachable) {
          if (matches === undefined) return 3;
          if (!matches(slot)) return 1;
        }
        const plan = plans?.(slot);
        return typeof plan === 'number' ? plan : 0;
      },
      reasons: (code) => REASONS[code] ?? [],
      isFinal: () => true,
    };
  },
};

/** What must be written so that the pod's volumes are there on the node; undefined when nothing must. */
export function planVolumes(pod: PodInfo, snapshot: Snapshot, slot: number): VolumePlan | undefined {
  if ((pod.spec.volumes ?? []).length === 0) return undefined;
  const claims = claimsOf(pod, snapshot);
  if ('refused' in claims || claims.delayed.length === 0) return undefined;
  const plan = plannerFor(claims.delayed, snapshot)(slot);
  return typeof plan === 'number' ? undefined : plan;
}

interface Claims {
  readonly bound: readonly Claim[];
  readonly delayed: readonly Claim[];
}

function claimsOf(pod: PodInfo, { catalog }: Snapshot): Claims | Refused {
  const bound: Claim[] = [];
  const delayed: Claim[] = [];
  for (const { name, ephemeral } of claimNames(pod)) {
    const claim = catalog.claim(pod.namespace, name);
    const quoted = `persistentvolumeclaim ${JSON.stringify(name)}`;
    if (claim === undefined)
      return {
        refused: ephemeral
          ? `waiting for ephemeral volume controller to create the ${quoted}`
          : `${quoted} not found`,
      };
    if (claim.status.phase === 'Lost')
      return {
        refused: `${quoted} bound to non-existent persistentvolume ${JSON.stringify(claim.spec.volumeName)}`,
      };
    if (claim.metadata.deletionTimestamp !== undefined) return { refused: `${quoted} is being deleted` };
    if (isBound(claim)) bound.push(claim);
    // One that names its volume is bound without a node being chosen for it.
    else if (waitsForNode(claim, catalog) && !claim.spec.volumeName) delayed.push(claim);
    else return { refused: 'pod has unbound immediate PersistentVolumeClaims' };
  }
  return { bound, delayed };
}

const NO_VOLUME = 2;
const NO_ROOM = 4;

/** The plan for a node, or the number of the reason why there is none. */
function plannerFor(
  claims: readonly Claim[],
  snapshot: Snapshot,
): (slot: number) => VolumePlan | typeof NO_VOLUME | typeof NO_ROOM {
  const wanted = claims.map((claim) => ({
    claim,
    volumes: volumesFor(claim, snapshot).map((volume) => ({
      name: volume.metadata.name,
      reaches: nodesOfVolume(volume, snapshot),
    })),
    provisions: provisionableNodes(claim, snapshot),
    hasRoom: nodesWithRoom(claim, snapshot),
    selected: claim.metadata.annotations?.[SELECTED_NODE],
  }));
  return (slot) => {
    const taken = new Set<string>();
    const bindings: { volume: string; claim: Claim }[] = [];
    const provisions: Claim[] = [];
    for (const { claim, volumes, provisions: makes, hasRoom, selected } of wanted) {
      // A volume is being made for a node already: the pod has to follow it.
      if (selected !== undefined && selected !== snapshot.table.names[slot]) return NO_VOLUME;
      const found = volumes.find(
        ({ name, reaches }) => !taken.has(name) && (reaches === undefined || reaches(slot)),
      );
      if (found !== undefined) {
        taken.add(found.name);
        bindings.push({ volume: found.name, claim });
      } else if (makes?.(slot) !== true) return NO_VOLUME;
      else if (hasRoom?.(slot) === false) return NO_ROOM;
      else provisions.push(claim);
    }
    return { bindings, provisions };
  };
}
