// The rooms of `npm run test:mutation`: that their sources and tests are there, and how its command line chooses.
import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  GOAL,
  mutationUsage,
  parseMutationArguments,
  ROOMS,
  strykerConfiguration,
} from '../../../../scripts/lib/mutationRooms.mjs';

interface Room {
  name: string;
  sources: string[];
  tests: string[];
  without?: string[];
}
const rooms = ROOMS as Room[];

describe.each(rooms)('$name', ({ name, sources, tests, without = [] }) => {
  test('names sources that exist', () => {
    const kept = sources.filter((pattern) => !pattern.startsWith('!'));
    expect(kept.filter((pattern) => matching(pattern).length === 0)).toEqual([]);
  });

  test('names folders of unit tests that exist', () => {
    expect(tests.filter((folder) => !existsSync(`test/unit/${folder}`))).toEqual([]);
    expect(without.filter((file) => !existsSync(`test/unit/${file}.test.ts`))).toEqual([]);
  });

  test('is in the help', () => {
    expect(mutationUsage()).toContain(name);
  });
});

const files = ['src', 'proxy-modes'].flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' }).map((name) => `${room}/${name}`),
);

function matching(pattern: string): string[] {
  const text = pattern
    .replaceAll('.', '\\.')
    .replaceAll('**/', '(.+/)?')
    .replaceAll(/(?<!\.)\*/g, '[^/]*');
  return files.filter((name) => new RegExp(`^${text}$`).test(name));
}

test('all rooms without a name, the named ones otherwise, and files with one room', () => {
  expect(parseMutationArguments([]).rooms).toEqual(rooms);
  const one = parseMutationArguments(['store', 'src/store/batch.ts']);
  expect(one.rooms?.map(({ name }: Room) => name)).toEqual(['store']);
  expect(one.only).toEqual(['src/store/batch.ts']);
});

test('code that runs once at load is left out, unless it is asked for', () => {
  const asked = parseMutationArguments(['store', '--static']);
  expect([asked.rooms?.length, asked.isWhole]).toEqual([1, true]);
  expect(parseMutationArguments(['store']).isWhole).toBe(false);
  const room = { name: 'store', sources: ['src/store/*.ts'], tests: ['store'] };
  const config = { only: [], vitestConfig: 'c.mjs', concurrency: 1 };
  expect(strykerConfiguration(room, { ...config, isWhole: false }).ignoreStatic).toBe(true);
  expect(strykerConfiguration(room, { ...config, isWhole: true }).ignoreStatic).toBe(false);
});

test('a room that is not there, and files without a room, are refused', () => {
  expect(parseMutationArguments(['nowhere']).refusal).toContain('nowhere');
  expect(parseMutationArguments(['src/store/batch.ts']).refusal).toContain('one room');
});

test('a score below the goal breaks the run', () => {
  const room = { name: 'store', sources: ['src/store/*.ts'], tests: ['store'] };
  const config = strykerConfiguration(room, {
    only: [],
    isWhole: false,
    vitestConfig: 'c.mjs',
    concurrency: 1,
  });
  expect(config.thresholds.break).toBe(GOAL);
  expect(config.mutate).toEqual(room.sources);
});
