// The sweep of kubectl: reads a file of commands with what they print, runs the commands, and writes the file as it was seen.
// Guarantees: what differs from run to run is written as one word; commands run in the file's order, reads a few at once.
import type { Kubectl } from './kubectl.js';
import { wordsOf } from './kubectlScript.js';

const AT_ONCE = 4;
const READS = new Set(['get', 'explain', 'api-resources', 'api-versions']);

interface SweepStep {
  /** The line of the file: `$ kubectl get pods`, or `$27 kubectl ...` for what only kubectl 1.27 and newer can do. */
  readonly line: string;
  readonly words: readonly string[];
  readonly input: string;
  readonly since: number;
  /** What the file says is printed. */
  readonly printed: string;
}

/** Blocks: a line with a command, perhaps its input up to EOF, and what is printed. Other lines are comments. */
export function sweepSteps(text: string): { head: string; steps: readonly SweepStep[] } {
  const [head = '', ...blocks] = text.split(/^(?=\$\d* )/m);
  const steps = blocks.map((block) => {
    const [line = '', ...rest] = block.split('\n');
    const [, since = '', command = ''] = /^\$(\d*) kubectl (.*)$/.exec(line) ?? [];
    const end = line.endsWith(' <<EOF') ? rest.indexOf('EOF') : -1;
    const words = wordsOf(command.replace(/ <<EOF$/, ''));
    const input = rest.slice(0, Math.max(0, end)).join('\n');
    return { line, words, input, since: Number(since), printed: rest.slice(end + 1).join('\n') };
  });
  return { head, steps };
}

/** The block of a step in the file. */
export const sweepBlock = ({ line, input }: SweepStep, printed: string) =>
  `${line}\n${input === '' ? '' : `${input}\nEOF\n`}${printed}`;

/** What differs from run to run, and between versions of kubectl. */
function normalised(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replace(/(resourceVersion"?: ?)"\d+"/g, '$1"<version>"')
    .replace(/(?<=^|\s)\d+(?:d|h|m|s)(?:\d+(?:h|m|s))?(?=\s|$)/gm, '<age>')
    .replace(/(?:127\.0\.0\.1|192\.0\.2\.1):\d+/g, '<server>')
    .replace(/X509SHA256=[0-9a-f]{64}/g, 'X509SHA256=<hash>')
    .replace(/ deleted from \S+ namespace$/gm, ' deleted')
    .replace(/[ \t]+$/gm, '')
    .replace(/(?<=\S) {3,}/g, '   ');
}

/** What each step prints; for what a kubectl of that minor version is too old for, what the file says. */
export async function runSweep(
  kubectl: Kubectl,
  minor: number,
  steps: readonly SweepStep[],
): Promise<readonly string[]> {
  const seen = async ({ words, input, since, printed }: SweepStep): Promise<string> => {
    if (since > minor) return printed;
    const { code, stdout, stderr } = await kubectl.input(input, ...words);
    const ended = code === 0 ? '' : `(exit ${code})\n`;
    return `${normalised(`${stdout}${stderr}`.replace(/\n*$/, '\n'))}${ended}\n`;
  };
  const out: string[] = [];
  // Commands that only read do not disturb one another.
  for (let at = 0; at < steps.length; ) {
    let end = at + 1;
    const isRead = (step: SweepStep | undefined) => READS.has(step?.words[0] ?? '');
    while (end - at < AT_ONCE && isRead(steps[at]) && isRead(steps[end])) end += 1;
    out.push(...(await Promise.all(steps.slice(at, end).map(seen))));
    at = end;
  }
  return out;
}
