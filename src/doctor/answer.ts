// Turns what the machine said into an answer. Pure.
// Guarantees: "the kernel lacks it" is said only when the kernel itself refused; a refusal of rights is "unknown".
import { type Answer, type Check, missing, type Observation, present } from './check.js';

const NOT_ALLOWED = /operation not permitted|permission denied|must be root|are you root/i;

export function answer(check: Check, observation: Observation): Answer {
  const { probe } = check;
  switch (observation.kind) {
    case 'unasked':
      return { state: 'unknown', found: observation.why };
    case 'exit':
      return answerExit(observation.code, observation.output);
    case 'program':
      if (observation.path === null) return missing('not installed');
      if (probe.kind === 'tool' && probe.judge !== undefined) return answerJudged(probe.judge, observation);
      return present(versionIn(observation.output) ?? observation.path);
    case 'text':
      if (probe.kind !== 'file')
        throw new Error(`check ${check.id} was answered with a file it did not ask for`);
      return observation.text === null ? missing('not there') : probe.judge(observation.text);
  }
}

function answerJudged(judge: (output: string) => Answer, { output }: { readonly output: string }): Answer {
  return NOT_ALLOWED.test(output)
    ? { state: 'unknown', found: `not allowed to ask: ${firstLine(output)}` }
    : judge(output);
}

function answerExit(code: number, output: string): Answer {
  if (code === 0) return present('yes');
  const words = firstLine(output);
  if (NOT_ALLOWED.test(output)) return { state: 'unknown', found: `not allowed to ask: ${words}` };
  return missing(words === '' ? 'kernel lacks it' : `kernel lacks it: ${words}`);
}

/** The first thing in a program's output that looks like a version. */
export function versionIn(output: string): string | null {
  return /\d+\.\d+(?:[.-]?\w+)*/.exec(output)?.[0] ?? null;
}

const NOISE = /^(modprobe|insmod):/;

function firstLine(output: string): string {
  const lines = output.split('\n').map((line) => line.trim().replace(/^(Error|RTNETLINK answers): /, ''));
  return lines.find((line) => line !== '' && !NOISE.test(line)) ?? '';
}
