// The steps of a start as a person sees them on a terminal, and as lines elsewhere.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeStepView } from '../../../../src/cli/cluster/view.js';
import type { Terminal } from '../../../../src/cli/terminal.js';

let said = '';
const write = (text: string) => {
  said += text;
};
const terminal = (columns?: number) => ({ columns, write }) as unknown as Terminal;
/** What is left to be seen: a line that is drawn over goes with its return to the beginning. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what terminals are told by.
const seen = () => said.replaceAll(/[^\n]*\r\u001b\[K/g, '');

beforeEach(() => {
  said = '';
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

describe('the steps of a start', () => {
  test('are one line each where no person looks on', () => {
    const view = makeStepView(terminal(), false);
    view.show({ type: 'begin', name: 'store' });
    vi.advanceTimersByTime(1000);
    view.show({ type: 'note', name: 'agent', text: 'ended' });
    view.show({ type: 'done', name: 'store', ms: 1234 });
    view.show({ type: 'failed', name: 'join', text: 'no' });
    view.end();
    expect(said.split('\n')).toEqual([
      '    agent: ended',
      expect.stringMatching(/^ {2}✓ store +1\.23 s$/),
      '  ✗ join',
      '',
    ]);
  });

  test('turn on a terminal, and leave the same lines behind', () => {
    const view = makeStepView(terminal(80), true);
    view.show({ type: 'begin', name: 'store' });
    view.show({ type: 'begin', name: 'apiserver' });
    vi.advanceTimersByTime(400);
    expect(said).toMatch(/⠋ store, apiserver|⠹ store, apiserver/);
    view.show({ type: 'done', name: 'store', ms: 5 });
    view.show({ type: 'done', name: 'apiserver', ms: 7 });
    view.end();
    vi.advanceTimersByTime(400);
    expect(seen().split('\n')).toEqual([
      expect.stringMatching(/^ {2}✓ store +5 ms$/),
      expect.stringMatching(/^ {2}✓ apiserver +7 ms$/),
      '',
    ]);
  });

  test('never take more than one row', () => {
    const view = makeStepView(terminal(30), true);
    for (let node = 2; node <= 20; node++) view.show({ type: 'begin', name: `node one-${node}` });
    vi.advanceTimersByTime(200);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what terminals are told by.
    for (const line of said.split(/\r\u001b\[K/)) expect(line.length).toBeLessThan(30);
    expect(said).toContain('…');
    view.end();
  });
});
