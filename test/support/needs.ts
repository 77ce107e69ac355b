// What a suite needs of the machine, and the words for what is missing. Pure: the machine is an argument.
// Guarantees: a missing need is named with the way to get it, in the same words for skips and failures.

export interface Needs {
  /** Programs looked for on PATH, such as `nft`. */
  readonly tools?: readonly string[];
  /** Files of a Debian package that no PATH leads to, such as `/usr/lib/cni/bridge`. */
  readonly files?: readonly string[];
  /** Ids of kernel features in the table of `trellis doctor`, such as `ip-vs`. */
  readonly features?: readonly string[];
  /** The suite makes namespaces or devices. */
  readonly root?: boolean;
}

export interface Machine {
  readonly isRoot: boolean;
  hasTool(name: string): boolean;
  hasFile(path: string): boolean;
  /** Null when the kernel has the feature, otherwise why it counts as missing. */
  featureObstacle(id: string): string | null;
}

/** The needs the machine does not meet, each as a phrase; features are asked for only when the rest is there. */
export function unmetNeeds(needs: Needs, machine: Machine): string[] {
  const unmet = [
    ...(needs.root === true && !machine.isRoot ? ['root'] : []),
    ...(needs.tools ?? [])
      .filter((tool) => !machine.hasTool(tool))
      .map((tool) => `the tool ${tool} (npm run setup -- test)`),
    ...(needs.files ?? [])
      .filter((file) => !machine.hasFile(file))
      .map((file) => `the file ${file} (npm run setup -- test)`),
  ];
  if (unmet.length > 0) return unmet;
  return (needs.features ?? []).flatMap((id) => {
    const obstacle = machine.featureObstacle(id);
    return obstacle === null ? [] : [`the kernel feature ${id}: ${obstacle}`];
  });
}

const MARK = ' [needs ';

/** The title of a skipped suite carries its reason, so that a reporter can print it. */
export const titleWithReason = (name: string, unmet: readonly string[]) =>
  `${name}${MARK}${unmet.join('; ')}]`;

/** The reason in a title made by titleWithReason, or null. */
export function reasonOf(title: string): string | null {
  const at = title.indexOf(MARK);
  return at === -1 || !title.endsWith(']')
    ? null
    : `${title.slice(0, at)} needs ${title.slice(at + MARK.length, -1)}`;
}
