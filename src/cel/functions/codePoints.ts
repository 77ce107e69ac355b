// Positions in a text counted in code points, as CEL counts them, and not in UTF-16 units.
// Guarantees: text of ASCII alone, which is most, is found so in one pass and costs no copy.

/** Of texts whose units are their code points. */
const isPlain = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

export function codePoints(text: string): number {
  if (isPlain(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

interface Letters {
  readonly count: number;
  slice(start: number, end: number): string;
  /** The code point where a UTF-16 position lies. */
  indexOfUnit(unit: number): number;
  unitOfIndex(index: number): number;
}

export function lettersOf(text: string): Letters {
  if (isPlain(text)) {
    const identity = (at: number) => at;
    return {
      count: text.length,
      slice: (start, end) => text.slice(start, end),
      indexOfUnit: identity,
      unitOfIndex: identity,
    };
  }
  const letters = Array.from(text);
  const units: number[] = [0];
  for (const letter of letters) units.push((units.at(-1) as number) + letter.length);
  return {
    count: letters.length,
    slice: (start, end) => letters.slice(start, end).join(''),
    indexOfUnit: (unit) => units.indexOf(unit),
    unitOfIndex: (index) => units[index] ?? text.length,
  };
}
