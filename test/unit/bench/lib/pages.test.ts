// Tables of a run go between their marks on the pages; every group has such a place.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BENCHMARKS } from '../../../../bench/groups.js';
import { withBlock } from '../../../../bench/lib/pages.js';

const mark = (name: string) => `<!-- measured by: npm run bench -- ${name} -->`;
const END = '<!-- end of measured -->';

describe('a table on a page', () => {
  const page = `before\n${mark('cni')}\nold\n${END}\nbetween\n${mark('native')}\nold\n${END}\nafter\n`;

  test('takes the place of the one before, and nothing else', () => {
    expect(withBlock(page, 'native', 'new')).toBe(
      `before\n${mark('cni')}\nold\n${END}\nbetween\n${mark('native')}\nnew\n${END}\nafter\n`,
    );
  });

  test('has no place on another page, nor on one whose mark is left open', () => {
    expect(withBlock(page, 'proxy', 'new')).toBeUndefined();
    expect(() => withBlock(mark('cni'), 'cni', 'new')).toThrow('has no');
  });

  test('has a place for every group, and for both kernels of the proxy modes', () => {
    const docs = readdirSync('docs').filter((file) => file.endsWith('.md'));
    const pages = ['README.md', ...docs.map((file) => `docs/${file}`)].map((file) =>
      readFileSync(file, 'utf8'),
    );
    const groups = [...new Set(BENCHMARKS.map(({ group }) => group)), 'proxy/host', 'proxy/vm'];
    const places = groups.map(
      (name) => pages.filter((text) => withBlock(text, name, '') !== undefined).length,
    );
    expect(Object.fromEntries(groups.map((name, i) => [name, places[i]]))).toEqual(
      Object.fromEntries(groups.map((name) => [name, 1])),
    );
  });
});
