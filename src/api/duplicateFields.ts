// Finds the members that a JSON text names twice, of which JSON.parse silently keeps the last. Pure.
// Guarantees: two passes at most, without recursion; the paths are written as those of unknown fields are.
import { isMembers } from './ownKeys.js';

interface Frame {
  /** Of an object: the names so far. Undefined for a list. */
  readonly names: Names | undefined;
  /** The next string is a name, not a value. */
  wantsName: boolean;
  index: number;
  /** The member or element that is being read: `.name` or `[3]`. */
  step: string;
}

/** Most objects have a few names, and a set for each would cost more than looking at all of them. */
const FEW = 16;

class Names {
  readonly #few: string[] = [];
  #many: Set<string> | undefined;

  /** False when it was there already. */
  add(name: string): boolean {
    if (this.#many === undefined) {
      if (this.#few.includes(name)) return false;
      if (this.#few.push(name) === FEW) this.#many = new Set(this.#few);
      return true;
    }
    if (this.#many.has(name)) return false;
    this.#many.add(name);
    return true;
  }
}

/** Beyond these nobody reads on. */
const MAX_FOUND = 100;

/**
 * The text must be valid JSON, and the data what it means. Paths such as `spec.containers[0].image`. Nearly all texts name
 * as many members as the data has, and are looked at no further.
 */
export function duplicateFields(text: string, data: unknown): readonly string[] {
  return namesIn(text) === membersIn(data) ? [] : search(text);
}

const QUOTE = 0x22;
const COLON = 0x3a;

function namesIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) count += 1;
  }
  return count;
}

function membersIn(data: unknown): number {
  let count = 0;
  const waiting = [data];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') waiting.push(item);
    } else if (isMembers(value)) {
      const names = Object.keys(value);
      count += names.length;
      for (const name of names) if (typeof value[name] === 'object') waiting.push(value[name]);
    }
  }
  return count;
}

function search(text: string): readonly string[] {
  const found: string[] = [];
  const stack: Frame[] = [];
  for (let at = 0; at < text.length && found.length < MAX_FOUND; at += 1) {
    const top = stack.at(-1);
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        if (top?.wantsName === true) takeName(stack, top, text.slice(at, end + 1), found);
        at = end;
        break;
      }
      case '{':
        stack.push({ names: new Names(), wantsName: true, index: 0, step: '' });
        break;
      case '[':
        stack.push({ names: undefined, wantsName: false, index: 0, step: '[0]' });
        break;
      case '}':
      case ']':
        stack.pop();
        break;
      case ',':
        if (top !== undefined) next(top);
        break;
    }
  }
  return found;
}

function takeName(stack: readonly Frame[], top: Frame, literal: string, found: string[]): void {
  // The same name may be spelled with escapes.
  const name = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  top.wantsName = false;
  top.step = `.${name}`;
  if (top.names?.add(name) === false)
    found.push(
      stack
        .map(({ step }) => step)
        .join('')
        .replace(/^\./, ''),
    );
}

function next(frame: Frame): void {
  if (frame.names !== undefined) {
    frame.wantsName = true;
    return;
  }
  frame.index += 1;
  frame.step = `[${frame.index}]`;
}

/** Index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
