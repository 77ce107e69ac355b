// Members that a JSON text names twice in one object: JSON.parse keeps the last and says nothing. Pure.
// Guarantees: one pass, no recursion; for text that JSON.parse accepts.

/** Beyond these nobody reads on. */
const MAX_FOUND = 100;

interface Level {
  /** Undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** Path of what stands here now: a member's name, or an item's index. */
  part: string;
  index: number;
}

/** Paths such as `spec.containers[0].image`, once each. */
export function duplicateKeys(text: string): readonly string[] {
  const found: string[] = [];
  const levels: Level[] = [];
  let key: string | undefined;
  for (let at = 0; at < text.length && found.length < MAX_FOUND; at += 1) {
    const level = levels.at(-1);
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = endOfString(text, at);
        if (level?.keys !== undefined && key === undefined) {
          key = JSON.parse(text.slice(at, end)) as string;
          level.part = `.${key}`;
          if (level.keys.has(key)) found.push(pathOf(levels));
          level.keys.add(key);
        }
        at = end - 1;
        break;
      }
      case 0x7b: // {
        levels.push({ keys: new Set(), part: '', index: 0 });
        key = undefined;
        break;
      case 0x5b: // [
        levels.push({ keys: undefined, part: '[0]', index: 0 });
        break;
      case 0x7d: // }
      case 0x5d: // ]
        levels.pop();
        key = levels.at(-1)?.keys === undefined ? undefined : ''; // the member that held it is not over yet
        break;
      case 0x2c: // ,
        key = undefined;
        if (level !== undefined && level.keys === undefined) {
          level.index += 1;
          level.part = `[${level.index}]`;
        }
        break;
    }
  }
  return [...new Set(found)];
}

const pathOf = (levels: readonly Level[]) =>
  levels
    .map(({ part }) => part)
    .join('')
    .slice(1);

function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}
