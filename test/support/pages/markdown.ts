// What a page of Markdown holds that can be checked: code, links, headings. Pure.
// Guarantees: text inside code is never taken for a link or a heading; lines are numbered as an editor does.

export interface Line {
  readonly number: number;
  readonly text: string;
}

export interface Page {
  /** From the root of the tree. */
  readonly path: string;
  readonly text: string;
}

/** Lines of fenced and of indented blocks, without the fence or the indent; a line that ends in `\` is joined to the next. */
export function codeLines({ text }: Pick<Page, 'text'>): Line[] {
  const lines: Line[] = [];
  for (const [line, isCode] of marked(text)) {
    const before = lines.at(-1);
    if (isCode && before?.text.endsWith('\\'))
      lines[lines.length - 1] = { ...before, text: `${before.text.slice(0, -1)}${line.text.trimStart()}` };
    else if (isCode) lines.push({ ...line, text: line.text.replace(/^ {4}/, '') });
  }
  return lines;
}

/** What stands between backticks in running text; a table's escaped `\|` is `|`. */
export const codeSpans = (page: Pick<Page, 'text'>): Line[] =>
  proseLines(page).flatMap(({ number, text }) =>
    [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => ({ number, text: span.replaceAll('\\|', '|') })),
  );

export const links = (page: Pick<Page, 'text'>): Line[] =>
  proseLines(page).flatMap(({ number, text }) =>
    [...text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => ({
      number,
      text: to,
    })),
  );

/** The anchors that GitHub gives the headings of a page. */
export function anchors(page: Pick<Page, 'text'>): Set<string> {
  const found = new Set<string>();
  for (const { text } of proseLines(page)) {
    const [, title] = /^#{1,6} (.+)$/.exec(text) ?? [];
    if (title === undefined) continue;
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    let name = slug;
    for (let again = 1; found.has(name); again++) name = `${slug}-${again}`;
    found.add(name);
  }
  return found;
}

const proseLines = ({ text }: Pick<Page, 'text'>): Line[] =>
  marked(text).flatMap(([line, isCode]) => (isCode ? [] : [line]));

/** Each line, and whether it is inside a block of code; fences themselves are left out. */
function marked(text: string): [Line, boolean][] {
  let isFenced = false;
  let isBlank = true;
  let isIndented = false;
  return text.split('\n').flatMap((line, i): [Line, boolean][] => {
    const isFence = /^\s*```/.test(line);
    if (isFence) {
      isFenced = !isFenced;
      return [];
    }
    // An indented block follows an empty line; below an item of a list the same indent is its text.
    isIndented = !isFenced && /^ {4}/.test(line) && (isIndented || isBlank);
    isBlank = line.trim() === '';
    return [[{ number: i + 1, text: line }, isFenced || isIndented]];
  });
}
