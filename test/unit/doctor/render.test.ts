// Doctor's report as text and as JSON.
// Guarantees: advice appears exactly where something is wrong, and colour codes only when asked for.
import { describe, expect, test } from 'vitest';
import type { Check, Need, State } from '../../../src/doctor/check.js';
import type { Finding, Report } from '../../../src/doctor/examine.js';
import { renderJson, renderTable } from '../../../src/doctor/render.js';

function finding(title: string, state: State, found: string, need: Need = 'optional'): Finding {
  const check: Check = {
    id: title,
    section: title === 'ip' ? 'Tools' : 'Devices',
    title,
    need,
    purpose: `${title} purpose`,
    remedy: `get ${title}`,
    probe: { kind: 'tool', name: title, versionArgs: [] },
  };
  return { check, state, found };
}

const report: Report = {
  ok: false,
  findings: [
    finding('veth', 'present', 'yes', 'required'),
    finding('bridge', 'missing', 'kernel lacks it: Operation not supported', 'required'),
    finding('ip', 'present', '6.1.0'),
    finding('dummy', 'unknown', 'could not ask: the tool ip is missing'),
  ],
};

describe('the table', () => {
  const text = renderTable(report, { colour: false });

  test('groups rows by section, in order, with one heading each', () => {
    expect(text.split('\n').filter((line) => /^\w/.test(line))).toEqual([
      'Devices',
      'Tools',
      '2 of 4 ok, 1 missing, 0 low, 1 unknown. Required but missing: bridge.',
    ]);
  });

  test('gives advice under what is not there and nowhere else', () => {
    expect(text.match(/to get it: .*/g)).toEqual(['to get it: get bridge', 'to get it: get dummy']);
  });

  test("keeps columns narrow by putting the kernel's words on a line of their own", () => {
    expect(text).toContain(
      'missing  bridge  kernel lacks it  required     bridge purpose\n           kernel lacks it: Operation',
    );
  });

  test('ends in one newline and has no colours', () => {
    expect(text).toMatch(/[^\n]\n$/);
    expect(text).not.toContain('\x1b');
  });

  test('has colours when asked for', () => {
    expect(renderTable(report, { colour: true })).toContain('\x1b[31mmissing');
  });
});

test('JSON carries everything and parses', () => {
  const { ok, findings } = JSON.parse(renderJson(report));
  expect(ok).toBe(false);
  expect(findings[1]).toEqual({
    id: 'bridge',
    section: 'Devices',
    title: 'bridge',
    need: 'required',
    state: 'missing',
    found: 'kernel lacks it: Operation not supported',
    purpose: 'bridge purpose',
    remedy: 'get bridge',
  });
});
