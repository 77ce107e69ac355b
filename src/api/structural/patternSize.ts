// How large a regular expression gets when it is compiled: repeats are multiplied out. Pure.
// Guarantees: one pass, no recursion; never less than the order of what the compiled expression has, also of one that is wrong.

/** Of a class such as \pL: it has hundreds of ranges, and is one step. */
const CLASS = 8;
const LARGEST = 1e9;

interface Level {
  /** All that is closed, and the atom before the next sign. */
  total: number;
  last: number;
}

const REPEAT = /^\{(\d{1,9})(?:,(\d{0,9}))?\}/;
/** A group's name or flags. */
const GROUP_HEAD = /^\?(?:P?<[^>]*>|[imsU-]*:)/;

/** Steps of the automaton, roughly. */
export function programSize(source: string): number {
  const size = new Size();
  for (let at = 0; at < source.length; at += 1) at = size.take(source, at);
  return size.whole;
}

class Size {
  readonly #levels: Level[] = [{ total: 1, last: 0 }];

  get whole(): number {
    const sum = this.#levels.reduce((total, level) => total + level.total + level.last, 0);
    return Math.min(sum, LARGEST);
  }

  /** Takes the sign that begins there, and answers where it ends. */
  take(source: string, at: number): number {
    switch (source[at]) {
      case '\\':
        return this.#escape(source, at);
      case '[':
        this.#atom(CLASS);
        return endOfClass(source, at);
      case '(':
        this.#levels.push({ total: 2, last: 0 });
        return at + (GROUP_HEAD.exec(source.slice(at + 1, at + 200))?.[0].length ?? 0);
      case ')':
        this.#close();
        return at;
      case '{':
        return this.#repeat(source, at);
      case '*':
      case '+':
      case '?':
      case '|':
        this.#top.total += 1;
        return at;
      default:
        this.#atom(1);
        return at;
    }
  }

  get #top(): Level {
    return this.#levels[this.#levels.length - 1] as Level;
  }

  #atom(size: number): void {
    const level = this.#top;
    level.total += level.last;
    level.last = Math.min(size, LARGEST);
  }

  #close(): void {
    const inner = this.#levels.length > 1 ? this.#levels.pop() : undefined;
    this.#atom(inner === undefined ? 1 : inner.total + inner.last);
  }

  #repeat(source: string, at: number): number {
    const repeat = REPEAT.exec(source.slice(at, at + 24));
    if (repeat === null) {
      this.#atom(1);
      return at;
    }
    const [text, least = '0', most = ''] = repeat;
    const times = Math.max(Number(least), Number(most), 1);
    const level = this.#top;
    level.last = Math.min((level.last + 1) * times, LARGEST);
    return at + text.length - 1;
  }

  #escape(source: string, at: number): number {
    const letter = source[at + 1] ?? '';
    if (letter === 'Q') {
      const end = source.indexOf('\\E', at);
      const stop = end === -1 ? source.length : end;
      this.#top.total += stop - at;
      return stop + 1;
    }
    this.#atom(letter === 'p' || letter === 'P' ? CLASS : 1);
    const isNamed = 'pPx'.includes(letter) && source[at + 2] === '{';
    return isNamed ? endOf(source, at + 2, '}') : at + 1;
  }
}

function endOf(source: string, at: number, sign: string): number {
  const end = source.indexOf(sign, at);
  return end === -1 ? source.length : end;
}

/** Of the bracket that closes the class opened at `start`; one that comes first is a member. */
function endOfClass(source: string, start: number): number {
  let at = start + 1;
  if (source[at] === '^') at += 1;
  if (source[at] === ']') at += 1;
  for (; at < source.length && source[at] !== ']'; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source.startsWith('[:', at)) at = Math.max(at, endOf(source, at, ':]') + 1);
  }
  return at;
}
