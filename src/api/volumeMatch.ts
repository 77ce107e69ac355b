// Which PersistentVolume a claim may have: one answer for whoever binds and for whoever chooses nodes. Pure.
// Guarantees: a volume that is meant for another claim is never given; one that its owner reserved for the claim is given
// before any other, whatever its class; of several that fit, the smallest is first; what cannot be read fits nothing.
import type { V1LabelSelector, V1PersistentVolume, V1PersistentVolumeClaim } from './gen/types.js';
import type { Stored } from './object.js';
import { compareQuantities, QuantityError } from './quantity.js';
import { compileLabelSelector, type LabelMatcher, matchesEverything } from './selectors.js';
import { ApiError } from './status.js';

export type Volume = Stored<V1PersistentVolume>;
export type Claim = Stored<V1PersistentVolumeClaim>;

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class';

export function classOf({ metadata, spec }: Claim | Volume): string {
  return metadata.annotations?.[BETA_CLASS] ?? spec.storageClassName ?? '';
}

/** Reserved for this claim, whether it is this very object or the next one of the name. */
export function isFor({ spec }: Volume, { metadata }: Claim): boolean {
  const reference = spec.claimRef;
  if (reference?.name !== metadata.name || reference.namespace !== metadata.namespace) return false;
  return reference.uid === undefined || reference.uid === '' || reference.uid === metadata.uid;
}

/** Why a volume that nobody reserved cannot serve the claim; undefined when it can. */
export function misfitOf(volume: Volume, claim: Claim): string | undefined {
  if (isTooSmall(volume, claim)) return 'requested PV is too small';
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  const offered = volume.spec.accessModes ?? [];
  if (!(claim.spec.accessModes ?? []).every((mode) => offered.includes(mode)))
    return 'incompatible accessMode';
  return undefined;
}

/** The volumes that would do, the one to take first. One that is reserved for the claim is the only one. */
export function volumesFor(claim: Claim, volumes: readonly Volume[]): readonly Volume[] {
  const staying = volumes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const reserved = staying.find(
    (volume) => isFor(volume, claim) && !isTooSmall(volume, claim) && modeOf(volume) === modeOf(claim),
  );
  if (reserved !== undefined) return [reserved];
  const selects = selectorOf(claim);
  return staying
    .filter(
      (volume) =>
        volume.spec.claimRef === undefined &&
        volume.status?.phase !== 'Failed' &&
        misfitOf(volume, claim) === undefined &&
        selects(volume.metadata.labels),
    )
    .sort((a, b) => compareQuantities(sizeOf(a), sizeOf(b)) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

const sizeOf = ({ spec }: Volume): string => spec.capacity?.['storage'] ?? '0';
const modeOf = ({ spec }: Claim | Volume): string => spec.volumeMode ?? 'Filesystem';

function isTooSmall(volume: Volume, { spec }: Claim): boolean {
  try {
    return compareQuantities(sizeOf(volume), spec.resources?.requests?.['storage'] ?? '0') < 0;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return true;
  }
}

function selectorOf({ spec: { selector } }: Claim): LabelMatcher {
  return selector === undefined ? matchesEverything : matcherOf(selector);
}

/** A selector that cannot be read selects nothing. */
export function matcherOf(selector: V1LabelSelector): LabelMatcher {
  try {
    return compileLabelSelector(selector);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return () => false;
  }
}
