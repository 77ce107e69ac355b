// Which Trellis this is, and the Kubernetes whose API it speaks. Pure.

/** The level of the API, without what tells one implementation from another. */
export const KUBERNETES_VERSION = 'v1.36.0';

export interface Build {
  /** Of package.json. */
  readonly version: string;
  /** Empty where it is not known. */
  readonly commit: string;
  /** Whether what was built differs from that commit. */
  readonly treeState: 'clean' | 'dirty' | '';
  /** When the commit was made, as the API writes times. */
  readonly date: string;
}

export const UNKNOWN_BUILD: Build = { version: '', commit: '', treeState: '', date: '1970-01-01T00:00:00Z' };

/** As Kubernetes writes it: `v1.36.0+trellis.0.2.0`. What follows the plus is no part of any comparison. */
export const gitVersion = ({ version }: Pick<Build, 'version'>): string =>
  [`${KUBERNETES_VERSION}+trellis`, ...(version === '' ? [] : [version])].join('.');
