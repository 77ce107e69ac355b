import { expect, test } from 'vitest';
import { MAX_IN_ALL, MAX_OF_CLIENT, QuestionLoad } from '../../../src/dns/questionLoad.js';

test('has a bound for each client and one for all, and takes more once some have left', () => {
  const load = new QuestionLoad();
  const leaves: (() => void)[] = [];
  const enter = (client: string) => {
    const leave = load.enter(client);
    if (leave !== undefined) leaves.push(leave);
    return leave !== undefined;
  };
  for (let client = 0; leaves.length < MAX_IN_ALL; client++) {
    for (let n = 0; n < MAX_OF_CLIENT; n++) expect(enter(`c${client}`)).toBe(true);
    expect(enter(`c${client}`)).toBe(false);
  }
  expect(enter('another')).toBe(false);
  leaves.shift()?.();
  expect([enter('another'), enter('another')]).toEqual([true, false]);
});
