// Puts measured tables into README and docs, between the marks that name the benchmark.
// Guarantees: nothing outside the marks changes; a table that no page has a place for is an error.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const begin = (name: string) => `<!-- measured by: npm run bench -- ${name} -->`;
const END = '<!-- end of measured -->';

/** The page with the block in place of what stood between its marks; undefined when the page has none. Pure. */
export function withBlock(page: string, name: string, block: string): string | undefined {
  const from = page.indexOf(begin(name));
  if (from === -1) return undefined;
  const start = from + begin(name).length;
  const end = page.indexOf(END, start);
  if (end === -1) throw new Error(`"${begin(name)}" has no "${END}" after it`);
  return `${page.slice(0, start)}\n${block}\n${page.slice(end)}`;
}

/** Answers the page that was written. */
export function writeBlock(root: string, name: string, block: string): string {
  const docs = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
  for (const file of ['README.md', ...docs.map((doc) => join('docs', doc))]) {
    const page = withBlock(readFileSync(join(root, file), 'utf8'), name, block);
    if (page === undefined) continue;
    writeFileSync(join(root, file), page);
    return file;
  }
  throw new Error(`no page has a place for ${name}: ${begin(name)}`);
}
