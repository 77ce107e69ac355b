// The versions of the CNI specification and what each can do. Pure.
// Guarantees: one table; a version that is not in it is never guessed at.

/** In order of age. */
export const CNI_VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof CNI_VERSIONS)[number];

/** What a configuration without `cniVersion` means. */
export const OLDEST_VERSION: CniVersion = '0.1.0';

export const isCniVersion = (text: unknown): text is CniVersion =>
  (CNI_VERSIONS as readonly unknown[]).includes(text);

export const isAtLeast = (version: CniVersion, other: CniVersion): boolean =>
  CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(other);

/** CHECK, and a prevResult for DEL, came with 0.4.0. */
export const hasCheck = (version: CniVersion): boolean => isAtLeast(version, '0.4.0');

/** GC and STATUS came with 1.1.0. */
export const hasGc = (version: CniVersion): boolean => isAtLeast(version, '1.1.0');
export const hasStatus = hasGc;

/** The newest of them that is in the table, or undefined. */
export const newest = (versions: readonly string[]): CniVersion | undefined =>
  CNI_VERSIONS.findLast((version) => versions.includes(version));
