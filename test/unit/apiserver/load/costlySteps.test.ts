// Turns of costly work: one a turn of the event loop, users in rotation.
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CostlySteps } from '../../../../src/apiserver/load/costlySteps.js';

describe('costly steps', () => {
  test('run one in a turn of the event loop', async () => {
    const steps = new CostlySteps();
    let ran = 0;
    for (let index = 0; index < 5; index += 1) void steps.next('a').then(() => (ran += 1));
    expect(ran).toBe(0);
    for (let turn = 1; turn <= 5; turn += 1) {
      await turnOfLoop();
      expect(ran).toBeLessThanOrEqual(turn);
    }
    await turnOfLoop();
    expect(ran).toBe(5);
  });
  test('of users run in rotation, however many one has waiting', async () => {
    const steps = new CostlySteps();
    const order: string[] = [];
    const asked = ['a', 'a', 'a', 'a', 'b', 'c', 'b'].map((user) =>
      steps.next(user).then(() => order.push(user)),
    );
    await Promise.all(asked);
    expect(order.join('')).toBe('abcabaa');
  });
});
