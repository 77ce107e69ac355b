// Links of proxied pages, as a table.
import { expect, test } from 'vitest';
import { rewriteHtml, rewriteLink } from '../../../../src/apiserver/subresources/links.js';

const prefix = '/api/v1/namespaces/a/pods/web:80/proxy';
const rules = { prefix, server: '10.0.0.7:80', here: 'cluster:6443' };

test.each([
  ['a path', '/x?y#z', `${prefix}/x?y#z`],
  ['a path that leads here already', `${prefix}/x`, `${prefix}/x`],
  ['a relative one', 'x/y', 'x/y'],
  ['the server by its own address', 'http://10.0.0.7:80/x', `${prefix}/x`],
  ['the client by its own name', 'https://cluster:6443/x', `https://cluster:6443${prefix}/x`],
  ['another host', 'http://example.com/x', 'http://example.com/x'],
  ['another host without a scheme', '//example.com/x', '//example.com/x'],
  ['what is no place', 'mailto:a@b', 'mailto:a@b'],
  ['data', 'data:/x', 'data:/x'],
  ['nothing', '', ''],
])('%s', (_, link, want) => {
  expect(rewriteLink(link, rules)).toBe(want);
});

test.each([
  ['a link', '<a href="/rewriteme">test</a>', `<a href="${prefix}/rewriteme">test</a>`],
  ['single quotes and none', "<IMG src='/a' alt=/b><img src=/c>", null],
  ['attributes that hold no address', '<a title="/x" data-href="/x">', '<a title="/x" data-href="/x">'],
  ['text', 'if a </b and href="/x"', 'if a </b and href="/x"'],
  ['a comment', '<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'],
  ['a script: its address, not its text', '<script src="/s">"<a href=\'/x\'>"</script>', null],
])('in a page: %s', (_, html, want) => {
  const special: Record<string, string> = {
    "<IMG src='/a' alt=/b><img src=/c>": `<IMG src='${prefix}/a' alt=/b><img src=${prefix}/c>`,
    '<script src="/s">"<a href=\'/x\'>"</script>': `<script src="${prefix}/s">"<a href='/x'>"</script>`,
  };
  expect(rewriteHtml(html, rules)).toBe(want ?? special[html]);
});

test('a hostile page takes no longer than its length allows', () => {
  for (const piece of ['<a ', '<!--', '<script>', '<a href=', '<a href="', '< a', '<a b=c '])
    expect(rewriteHtml(piece.repeat(100_000), rules)).toContain(piece);
  for (const inside of [' ', '/', '"', "'", '=', 'a=', 'a ="', '\'"', 'a\n', 'href=" ', "href='/x'\""])
    expect(rewriteHtml(`<a ${inside.repeat(400_000)}>`, rules).length).toBeGreaterThanOrEqual(400_000);
});
