// Huge pages: what resources, the kernel and volumes call them. Pure.
// Guarantees: a size is told in bytes; a name that is no size is passed over, since admission refused it.
import type { V1PodSpec, V1ResourceRequirements } from '../api/gen/types.js';
import { integerValue, tryParseQuantity } from '../api/quantity.js';
import { KubeletError } from './error.js';

const PREFIX = 'hugepages-';
const MEDIUM = 'HugePages';
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** As the kernel's files have it: `2MB`, `1GB`. */
export function kernelSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  for (; size % 1024 === 0 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${size}${UNITS[unit]}`;
}

/** The names that stand for pages in these requirements, such as `hugepages-2Mi`, by their size in bytes. */
export function namesOfPages(
  ...requirements: readonly (V1ResourceRequirements | undefined)[]
): ReadonlyMap<number, string> {
  const names = requirements.flatMap((one) => Object.keys({ ...one?.requests, ...one?.limits }));
  return new Map(
    names
      .filter((name) => name.startsWith(PREFIX) && tryParseQuantity(name.slice(PREFIX.length)) !== undefined)
      .map((name) => [integerValue(name.slice(PREFIX.length)), name]),
  );
}

export const isHugePages = (medium: string): boolean => medium === MEDIUM || medium.startsWith(`${MEDIUM}-`);

/** The size of the pages behind an emptyDir: one that a container of the pod asks for, and the only one if none is named. */
export function pageSizeOf(medium: string, { containers, initContainers = [] }: V1PodSpec): number {
  const asked = [
    ...namesOfPages(...[...containers, ...initContainers].map(({ resources }) => resources)).keys(),
  ];
  const named = medium === MEDIUM ? undefined : tryParseQuantity(medium.slice(MEDIUM.length + 1));
  if (medium !== MEDIUM && named === undefined)
    throw new KubeletError('FailedMount', `unknown storage medium ${JSON.stringify(medium)}`);
  if (named === undefined && asked.length > 1)
    throw new KubeletError(
      'FailedMount',
      `medium: ${medium} can't be used if container requests multiple huge page sizes`,
    );
  const found =
    named === undefined ? asked[0] : asked.find((size) => BigInt(size) * 10n ** 9n === named.nanos);
  if (found === undefined)
    throw new KubeletError(
      'FailedMount',
      `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
    );
  return found;
}
