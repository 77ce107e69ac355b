// Which volume a claim may have, and where one could be made for it. Pure.
import type { V1LabelSelector } from '../../api/gen/types.js';
import { compareQuantities, QuantityError } from '../../api/quantity.js';
import { compileLabelSelector, type LabelMatcher, matchesEverything } from '../../api/selectors.js';
import { ApiError } from '../../api/status.js';
import { anyTerm, type SlotMatcher } from '../nodeMatcher.js';
import type { Claim, Volume } from '../snapshot/catalog.js';
import type { Snapshot } from '../snapshot/snapshot.js';

const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

/** The volumes that would do for a claim, the smallest first. */
export function volumesFor(claim: Claim, snapshot: Snapshot): readonly Volume[] {
  const { catalog, reservedVolumes } = snapshot;
  const { spec, metadata } = claim;
  const wanted = spec.resources?.requests?.['storage'] ?? '0';
  const modes = spec.accessModes ?? [];
  const selects = selectorOf(claim);
  return catalog
    .volumesOfClass(spec.storageClassName ?? '')
    .filter((volume) => {
      const { claimRef, capacity = {}, accessModes = [], volumeMode = 'Filesystem' } = volume.spec;
      const isOwn = claimRef?.name === metadata.name && claimRef.namespace === metadata.namespace;
      if (claimRef === undefined ? volume.status.phase !== 'Available' : !isOwn) return false;
      const reservedFor = reservedVolumes.get(volume.metadata.name);
      if (reservedFor !== undefined && reservedFor !== metadata.uid) return false;
      return (
        volumeMode === (spec.volumeMode ?? 'Filesystem') &&
        modes.every((mode) => accessModes.includes(mode)) &&
        isAtLeast(capacity['storage'], wanted) &&
        selects(volume.metadata.labels)
      );
    })
    .sort((a, b) =>
      compareQuantities(a.spec.capacity?.['storage'] ?? '0', b.spec.capacity?.['storage'] ?? '0'),
    );
}

function selectorOf({ spec: { selector } }: Claim): LabelMatcher {
  return selector === undefined ? matchesEverything : matcherOf(selector);
}

/** A selector that cannot be read selects nothing. */
function matcherOf(selector: V1LabelSelector): LabelMatcher {
  try {
    return compileLabelSelector(selector);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return () => false;
  }
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
