// An object's JSON without the account of who wrote which field: half of many an object, and few readers want it. Pure.
// Guarantees: only that member of the object's own metadata goes; linear in the text.

const METADATA = '"metadata":{';
const MANAGERS = ',"managedFields":[';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * `text` is an object as it is stored: metadata comes first. A quote within a string has a backslash before it, so both
 * names are found as members and nowhere else.
 */
export function withoutManagers(text: string): string {
  const start = text.indexOf(MANAGERS);
  const end = start === -1 ? -1 : endOfManagers(text, start);
  return end === -1 ? text : text.slice(0, start) + text.slice(end);
}

/** Behind the list that begins at `start`; -1 when it is no member of the metadata itself. */
function endOfManagers(text: string, start: number): number {
  let depth = 0;
  for (let at = text.indexOf(METADATA) + METADATA.length; at < text.length; at += 1) {
    if (at === start && depth > 0) return -1;
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (isOpening(code)) depth += 1;
    else if (isClosing(code)) {
      depth -= 1;
      if (depth < 0) return -1;
      if (depth === 0 && at > start) return at + 1;
    }
  }
  return -1;
}

function endOfString(text: string, opening: number): number {
  for (let at = opening + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

/** `{` or `[`. */
const isOpening = (code: number) => code === 0x7b || code === 0x5b;
/** `}` or `]`. */
const isClosing = (code: number) => code === 0x7d || code === 0x5d;
