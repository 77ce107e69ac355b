// Reading a container's log from its files.
// Guarantees: every option, partial lines, rotated files, and a follower that misses nothing.
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseLogLine } from '../../../../src/kubelet/server/logs/line.js';
import { logOptions } from '../../../../src/kubelet/server/logs/options.js';
import { readLog } from '../../../../src/kubelet/server/logs/read.js';

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'trellis-log-'));
  file = path.join(dir, '0.log');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const NOW = Date.parse('2026-01-01T00:01:00Z');
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000001Z`;
const entry = (second: number, text: string, tag = 'F', stream = 'stdout') =>
  `${at(second)} ${stream} ${tag} ${text}\n`;

const open = (query: string, running: () => boolean = () => false) => {
  const aborted = new AbortController();
  const options = logOptions(new URLSearchParams(query), NOW);
  const bytes = readLog({ file, options, isRunning: async () => running(), signal: aborted.signal });
  return { bytes, aborted };
};
async function read(query = '', running?: () => boolean): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of open(query, running).bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const five = [1, 2, 3, 4, 5].map((n) => entry(n, `line ${n}`)).join('');

test.each([
  ['everything', '', 'line 1\nline 2\nline 3\nline 4\nline 5\n'],
  ['the last two', 'tailLines=2', 'line 4\nline 5\n'],
  ['more than there are', 'tailLines=99', 'line 1\nline 2\nline 3\nline 4\nline 5\n'],
  ['none', 'tailLines=0', ''],
  ['since a time', `sinceTime=${at(4)}`, 'line 4\nline 5\n'],
  ['since seconds ago', 'sinceSeconds=56', 'line 4\nline 5\n'],
  ['so many bytes', 'limitBytes=9', 'line 1\nli'],
  ['with times', 'tailLines=1&timestamps=true', `${at(5)} line 5\n`],
])('%s', async (_, query, want) => {
  await writeFile(file, five);
  expect(await read(query)).toBe(want);
});

test('pieces of a line are one line, also when counted from the end and with times', async () => {
  await writeFile(file, [entry(1, 'one'), entry(2, 'tw', 'P'), entry(3, 'o', 'P'), entry(4, '!')].join(''));
  expect(await read()).toBe('one\ntwo!\n');
  expect(await read('tailLines=1')).toBe('two!\n');
  expect(await read('timestamps=true')).toBe(`${at(1)} one\n${at(2)} two!\n`);
});

test('one stream, and lines that are none', async () => {
  await writeFile(file, `${entry(1, 'out')}garbage\n${entry(2, 'err', 'F', 'stderr')}\n`);
  expect(await read('stream=Stderr')).toBe('err\n');
  expect(await read('stream=All')).toBe('out\nerr\n');
});

test('empty contents, contents with spaces, bytes that are no text, and a last line without its end', async () => {
  await writeFile(
    file,
    Buffer.concat([
      Buffer.from(`${at(1)} stdout F\n${at(1)} stdout F \n${at(2)} stdout F  a b \n${at(3)} stdout F `),
      Buffer.from([0xff, 0x00, 0x0a]),
      Buffer.from(`${at(4)} stdout F last`),
    ]),
  );
  const pieces: Buffer[] = [];
  for await (const piece of open('').bytes) pieces.push(piece);
  const want = Buffer.concat([
    Buffer.from('\n\n a b \n'),
    Buffer.from([0xff, 0x00, 0x0a]),
    Buffer.from('last\n'),
  ]);
  expect(Buffer.concat(pieces)).toEqual(want);
});

test('rotated files come first, packed ones too, and are counted from the end', async () => {
  await writeFile(`${file}.20260101-000000.gz`, gzipSync(entry(1, 'oldest') + entry(2, 'old')));
  await writeFile(`${file}.20260101-000100`, entry(3, 'newer') + entry(4, 'pa', 'P'));
  await writeFile(`${file}.20260101-000200.tmp`, 'unfinished');
  await writeFile(file, entry(5, 'rt') + entry(6, 'now'));
  expect(await read()).toBe('oldest\nold\nnewer\npart\nnow\n');
  expect(await read('tailLines=1')).toBe('now\n');
  expect(await read('tailLines=2')).toBe('part\nnow\n');
  expect(await read('tailLines=4')).toBe('old\nnewer\npart\nnow\n');
});

test('a long file is counted across its pieces', async () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => `${'x'.repeat(n % 97)} ${n}`);
  await writeFile(file, lines.map((line) => entry(1, line)).join(''));
  expect(await read('tailLines=12345')).toBe(`${lines.slice(-12345).join('\n')}\n`);
  await writeFile(file, entry(1, 'before') + entry(2, 'y'.repeat(300_000)) + entry(3, 'after'));
  expect(await read('tailLines=2')).toBe(`${'y'.repeat(300_000)}\nafter\n`);
});

test('a last line that was left open is a line', async () => {
  await writeFile(file, entry(1, 'one') + entry(2, 'two') + entry(3, 'op', 'P') + entry(4, 'en', 'P'));
  expect(await read('tailLines=1')).toBe('open');
  expect(await read('tailLines=2')).toBe('two\nopen');
  expect(await read('tailLines=0')).toBe('');
  await rename(file, `${file}.20260101-000100`);
  await writeFile(file, '');
  expect(await read('tailLines=1')).toBe('open');
  await writeFile(`${file}.20260101-000100.gz`, gzipSync(entry(1, 'one') + entry(2, 'op', 'P')));
  await rm(`${file}.20260101-000100`);
  await rm(file);
  expect(await read('tailLines=1')).toBe('op');
  expect(await read('tailLines=2')).toBe('one\nop');
  expect(await read('tailLines=0')).toBe('');
});

test('a packed file is never unpacked as a whole, and not at all where the tail does not need it', {
  timeout: 60_000,
}, async () => {
  const megabyte = Buffer.from(entry(1, 'x'.repeat(16_000)).repeat(64));
  const pieces = [...Array.from({ length: 128 }, () => megabyte), Buffer.from(entry(2, 'last'))];
  await writeFile(`${file}.20260101-000000.gz`, gzipSync(Buffer.concat(pieces), { level: 1 }));
  await writeFile(`${file}.20250101-000000.gz`, 'not packed at all');
  await writeFile(file, entry(3, 'now'));
  expect(await read('tailLines=0')).toBe('');
  const before = process.memoryUsage().rss;
  expect(await read('tailLines=3')).toBe(`${'x'.repeat(16_000)}\nlast\nnow\n`);
  expect(process.memoryUsage().rss - before).toBeLessThan(90 << 20);
});

test('a file that cannot be unpacked is an error, not an empty log', async () => {
  await writeFile(`${file}.20260101-000000.gz`, gzipSync(entry(1, 'x'.repeat(1_000))).subarray(0, -12));
  await writeFile(file, entry(3, 'now'));
  await expect(read()).rejects.toThrow('unexpected end of file');
  await expect(read('tailLines=5')).rejects.toThrow('unexpected end of file');
});

test('no file is an empty log', async () => {
  expect(await read()).toBe('');
  expect(await read('tailLines=3')).toBe('');
});

test('a follower reads what is written, through a rotation, until the container ends', async () => {
  let running = true;
  await writeFile(file, entry(1, 'old') + entry(2, 'first'));
  const { bytes } = open('follow=true&tailLines=1', () => running);
  const next = async () => (await bytes.next()).value?.toString();
  expect(await next()).toBe('first\n');
  await appendFile(file, `${at(3)} stdout F sec`);
  await appendFile(file, 'ond\n');
  expect(await next()).toBe('second\n');
  await appendFile(file, entry(4, 'before the turn'));
  await rename(file, `${file}.20260101-000100`);
  await writeFile(file, entry(5, 'after the turn'));
  expect(await next()).toBe('before the turn\n');
  expect(await next()).toBe('after the turn\n');
  await appendFile(file, entry(6, 'last words'));
  running = false;
  expect(await next()).toBe('last words\n');
  expect((await bytes.next()).done).toBe(true);
});

test('a follower waits for a file that is not there yet, and ends when its reader does', async () => {
  const { bytes, aborted } = open('follow=true', () => true);
  const first = bytes.next();
  await writeFile(file, entry(1, 'at last'));
  expect((await first).value?.toString()).toBe('at last\n');
  const second = bytes.next();
  aborted.abort();
  expect((await second).done).toBe(true);
});

test.each([
  ['tailLines=-1', 'tailLines'],
  ['tailLines=x', 'tailLines'],
  ['limitBytes=0', 'limitBytes'],
  ['sinceSeconds=0', 'sinceSeconds'],
  ['sinceTime=yesterday', 'sinceTime'],
  ['sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', 'at most one'],
  ['stream=Stdin', 'stream'],
  ['stream=Stdout&tailLines=1', 'mutually exclusive'],
])('%s is refused', (query, words) => {
  expect(() => logOptions(new URLSearchParams(query), NOW)).toThrow(words);
});

test.each([[''], ['x'], ['a b'], ['t stdin F x'], ['t stdout X x'], ['t stdout']])(
  '%j is no entry',
  (line) => {
    expect(parseLogLine(Buffer.from(line))).toBeUndefined();
  },
);
