// Which volume a claim may have, and where one could be made for it. Pure.
import { compareQuantities, QuantityError } from '../../api/quantity.js';
import { classOf, volumesFor as fitting, matcherOf } from '../../api/volumeMatch.js';
import { anyTerm, type SlotMatcher } from '../nodeMatcher.js';
import type { Claim, Volume } from '../snapshot/catalog.js';
import type { Snapshot } from '../snapshot/snapshot.js';

const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

/** The volumes that would do for a claim, the one to take first. */
export function volumesFor(claim: Claim, snapshot: Snapshot): readonly Volume[] {
  const { catalog, reservedVolumes } = snapshot;
  const { name, namespace = '', uid } = claim.metadata;
  const known = [...catalog.volumesFor(namespace, name), ...catalog.volumesOfClass(classOf(claim))];
  return fitting(
    claim,
    known.filter(({ metadata, spec, status }) => {
      const reservedFor = reservedVolumes.get(metadata.name);
      return (reservedFor ?? uid) === uid && (spec.claimRef !== undefined || status.phase === 'Available');
    }),
  );
}

function isAtLeast(amount: string | undefined, wanted: string): boolean {
  try {
    return amount !== undefined && compareQuantities(amount, wanted) >= 0;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return false;
  }
}

/** The nodes from which a volume can be reached. */
export function nodesOfVolume({ spec }: Volume, snapshot: Snapshot): SlotMatcher | undefined {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined ? undefined : anyTerm(terms, snapshot);
}

/** The nodes for which a volume can be made for a claim; undefined when for none. */
export function provisionableNodes({ spec }: Claim, snapshot: Snapshot): SlotMatcher | undefined {
  const found = snapshot.catalog.storageClass(spec.storageClassName ?? '');
  if (found === undefined || found.provisioner === NO_PROVISIONER) return undefined;
  const topologies = found.allowedTopologies ?? [];
  if (topologies.length === 0) return () => true;
  return anyTerm(
    topologies.map(({ matchLabelExpressions = [] }) => ({
      matchExpressions: matchLabelExpressions.map(({ key, values }) => ({ key, operator: 'In', values })),
    })),
    snapshot,
  );
}

/** The nodes that can reach storage with room for a claim; undefined when its driver does not tell. */
export function nodesWithRoom({ spec }: Claim, { catalog, table }: Snapshot): SlotMatcher | undefined {
  const name = spec.storageClassName ?? '';
  const driver = catalog.storageClass(name)?.provisioner ?? '';
  if (!catalog.tellsCapacity(driver)) return undefined;
  const wanted = spec.resources?.requests?.['storage'] ?? '0';
  const reached = catalog
    .capacitiesOfClass(name)
    .filter(({ capacity, maximumVolumeSize }) => isAtLeast(maximumVolumeSize ?? capacity, wanted))
    // Without a topology it can be reached from nowhere.
    .flatMap(({ nodeTopology }) => (nodeTopology === undefined ? [] : [matcherOf(nodeTopology)]));
  return (slot) => {
    const labels = table.nodes[slot]?.metadata.labels ?? {};
    return reached.some((matches) => matches(labels));
  };
}
