// Limits of a request body, checked on its bytes before it is parsed: parsing and validating cost far more. Pure.
// Guarantees: one pass, no recursion; it ends where a limit is exceeded.

/** As Go's own reader has it. */
export const MAX_DEPTH = 10_000;
/** Lists, objects, and what commas part in them: an object in a list counts twice. Large objects of real clusters have half. */
export const MAX_VALUES = 32_000;

export const TOO_DEEP = 'exceeded max depth';
export const tooMany = (most: number): string => `it holds more than ${most} values`;

/** Definitions carry the schemas of whole kinds: those of well-known projects have up to 60,000 values. */
const LARGER: Readonly<Record<string, number>> = { customresourcedefinitions: 150_000 };

/** How many values an object of that resource may hold. */
export const maxValuesOf = (resource: string): number =>
  (Object.hasOwn(LARGER, resource) ? LARGER[resource] : undefined) ?? MAX_VALUES;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Why a JSON text is refused unread; undefined when it is not, although it may still be no JSON. */
export function jsonObstacle(bytes: Uint8Array, maxValues: number = MAX_VALUES): string | undefined {
  // Each level and each value takes a byte.
  if (bytes.length <= MAX_DEPTH) return undefined;
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        if (depth > MAX_DEPTH) return TOO_DEEP;
        if (values > maxValues) return tooMany(maxValues);
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        if (values > maxValues) return tooMany(maxValues);
        break;
    }
  }
  return undefined;
}

/** Index of the quote that closes the string opened at `start`, or of the end. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
