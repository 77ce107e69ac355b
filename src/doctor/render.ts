// Shows a report as a table for people or as JSON for programs. Pure.
// Guarantees: the same report gives the same text; colour codes appear only when asked for.
import type { State } from './check.js';
import type { Finding, Report } from './examine.js';

const WORDS: Record<State, { word: string; colour: number }> = {
  present: { word: 'ok', colour: 32 },
  missing: { word: 'missing', colour: 31 },
  low: { word: 'low', colour: 33 },
  unknown: { word: 'unknown', colour: 33 },
};
const BOLD = 1;
const DIM = 2;

/** Sections of aligned rows; a row that is not ok is followed by how to put it right. */
export function renderTable({ findings, ok }: Report, { colour }: { colour: boolean }): string {
  const paint = (text: string, code: number) => (colour ? `\x1b[${code}m${text}\x1b[0m` : text);
  const titleWidth = Math.max(...findings.map(({ check }) => check.title.length));
  const foundWidth = Math.max(...findings.map((finding) => shownFound(finding).length));

  const row = (finding: Finding) => {
    const { check, state } = finding;
    const { word, colour: code } = WORDS[state];
    // What is optional and absent is no cause for alarm.
    const shade = state === 'missing' && check.need === 'optional' ? DIM : code;
    const cells = [
      paint(word.padEnd(7), shade),
      check.title.padEnd(titleWidth),
      shownFound(finding).padEnd(foundWidth),
      check.need.padEnd('recommended'.length),
      check.purpose,
    ];
    const line = `  ${cells.join('  ')}`;
    if (state === 'present') return [line];
    const why = finding.found === shownFound(finding) ? [] : [finding.found];
    return [line, ...[...why, `to get it: ${check.remedy}`].map((text) => paint(`           ${text}`, DIM))];
  };

  const sections = [...new Set(findings.map(({ check }) => check.section))].map((section) => [
    paint(section, BOLD),
    ...findings.filter(({ check }) => check.section === section).flatMap(row),
    '',
  ]);
  return [...sections.flat(), summary(findings, ok), ''].join('\n');
}

/** Long answers (the kernel's own words) go on a line of their own, so that the columns stay narrow. */
function shownFound({ state, found }: Finding): string {
  if (found.length <= 24) return found;
  if (state === 'missing' && found.startsWith('kernel lacks it')) return 'kernel lacks it';
  return state === 'unknown' ? 'could not ask' : found;
}

function summary(findings: readonly Finding[], ok: boolean): string {
  const count = (state: State) => findings.filter((finding) => finding.state === state).length;
  const names = findings
    .filter(({ check, state }) => check.need === 'required' && (state === 'missing' || state === 'low'))
    .map(({ check }) => check.title);
  const verdict = ok ? 'Nothing required is missing.' : `Required but missing: ${names.join(', ')}.`;
  const numbers = `${count('present')} of ${findings.length} ok, ${count('missing')} missing, ${count('low')} low`;
  return `${numbers}, ${count('unknown')} unknown. ${verdict}`;
}

/** One object: `ok` and a flat list of findings with everything a check says of itself. */
export function renderJson({ findings, ok }: Report): string {
  const list = findings.map(({ check, state, found }) => {
    const { id, section, title, need, purpose, remedy } = check;
    return { id, section, title, need, state, found, purpose, remedy };
  });
  return `${JSON.stringify({ ok, findings: list }, null, 2)}\n`;
}
