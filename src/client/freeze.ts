// Freezing objects that many readers share. Pure.

/** Freezes a JSON value all the way down and answers it; what is frozen already is not walked again. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) deepFreeze(value[key]);
  return value;
}
