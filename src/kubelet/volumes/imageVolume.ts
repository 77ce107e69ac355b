// Volumes that are images: which runtimes can mount them. Pure.
// Guarantees: an old runtime, which would pass over what it does not know, is named with what it lacks.

type Version = readonly [number, number];

/** Since when each runtime mounts images, and parts of them. Others are trusted to say for themselves. */
const SINCE: Readonly<Record<string, { readonly whole: Version; readonly part: Version }>> = {
  containerd: { whole: [2, 1], part: [2, 2] },
  'cri-o': { whole: [1, 31], part: [1, 33] },
};
const WORDS = { whole: 'image volumes', part: 'a subPath of image volumes' };

interface RuntimeVersion {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
}

/** Why the runtime that is there cannot mount an image, or a part of one; undefined when it can. */
export type ImageProblem = (use: 'whole' | 'part') => string | undefined;

/** Undefined where an image, or a part of one, can be mounted. */
export function imageVolumeProblem(
  runtime: RuntimeVersion | undefined,
  use: 'whole' | 'part' = 'whole',
): string | undefined {
  if (runtime === undefined) return undefined;
  const { runtimeName, runtimeVersion } = runtime;
  const since = SINCE[runtimeName]?.[use];
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(runtimeVersion) ?? [];
  if (since === undefined || major === undefined) return undefined;
  const [wantedMajor, wantedMinor] = since;
  const isNew =
    Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
  return isNew
    ? undefined
    : `${runtimeName} ${runtimeVersion} does not support ${WORDS[use]}; ${since.join('.')} or newer does`;
}
