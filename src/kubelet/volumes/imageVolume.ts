// Volumes that are images: which runtimes can mount them. Pure.
// Guarantees: an old runtime, which would pass over what it does not know, is named with what it lacks.

/** Since when each runtime mounts images. Others are trusted to say for themselves. */
const SINCE: Readonly<Record<string, readonly [number, number]>> = {
  containerd: [2, 1],
  'cri-o': [1, 31],
};

export interface RuntimeVersion {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
}

/** Undefined where an image can be mounted. */
export function imageVolumeProblem(runtime: RuntimeVersion | undefined): string | undefined {
  if (runtime === undefined) return undefined;
  const { runtimeName, runtimeVersion } = runtime;
  const since = SINCE[runtimeName];
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(runtimeVersion) ?? [];
  if (since === undefined || major === undefined) return undefined;
  const [wantedMajor, wantedMinor] = since;
  const isNew =
    Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
  return isNew
    ? undefined
    : `${runtimeName} ${runtimeVersion} does not support image volumes; ${since.join('.')} or newer does`;
}
