// How the model says no: the kernel's errno by name, or INVALID for a request that makes no sense.
// Guarantees: the numbers are Linux's.

const NUMBERS = {
  ENOENT: 2,
  EBUSY: 16,
  EEXIST: 17,
  EINVAL: 22,
  ENFILE: 23,
  EMLINK: 31,
  ERESTART: 85,
  EOPNOTSUPP: 95,
} as const;

export type Errno = keyof typeof NUMBERS;
export const errnoOf = (code: Errno): number => NUMBERS[code];

export class Refusal extends Error {
  constructor(readonly errno: Errno) {
    super(errno);
  }
}

/** Found before anything is done, as the core finds it. */
export class Nonsense extends Error {}

export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Refusal('ENOENT');
  return value;
}
