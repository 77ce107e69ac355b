// Turns what iptables-restore says when it fails into an error that names the line at fault. Pure.
// Guarantees: whichever back end spoke, the index is that of the caller's line, where the tool told one at all.
import { type Failure, KernelError } from '../error.js';

interface ToolFailure {
  /** "iptables-nft-restore" */
  readonly tool: string;
  readonly stderr: string;
  /** Null after a signal. */
  readonly status: number | null;
  readonly signal: string | null;
}

/** "iptables-nft-restore v1.8.9 (nf_tables): " and "iptables-restore: " before a sentence. */
const SPEAKER = /^ip6?tables\S*(?: v[\d.]+(?: \([a-z_]+\))?)?:\s*/;
const NOISE = /^(?:Error occurred at line: \d+|Try `.*|#.*|)$/;
/** Where the tools tell a line, the surest wording first. */
const LINE_TOLD = [
  /Error occurred at line: (\d+)/,
  /line (\d+) failed/,
  /COMMIT expected at line (\d+)/,
  /\bline (\d+)\b/,
];
/** The nft back end's commit, which may name several lines. */
const COMMIT_REFUSAL = /^line (\d+): (.+)$/gm;
const MISSING_CHAIN = /Chain '([^']+)' does not exist/;

const stripSpeaker = (line: string): string => {
  const rest = line.replace(SPEAKER, '');
  return rest === line ? line : stripSpeaker(rest); // "iptables-restore v1.8.9 (legacy): iptables-restore: unable to .."
};

/** The tool's own words without its name and its advice. */
function sentenceOf(stderr: string): string {
  const lines = stderr.split('\n').map((line) => stripSpeaker(line.trim()));
  return lines.filter((line) => !NOISE.test(line)).join('; ');
}

/**
 * The nft back end finds out about a jump to nowhere only at the end and then names the COMMIT's line; the rule that
 * jumps is before it.
 */
function lineOfJump(lines: readonly string[], chain: string, told: number): number {
  for (let at = told; at >= 1; --at) {
    const words = (lines[at - 1] ?? '').split(/\s+/);
    const jumps = words.some((word, i) => /^(?:-j|-g|--jump|--goto)$/.test(word) && words[i + 1] === chain);
    if (jumps) return at;
    if (at < told && lines[at - 1] === 'COMMIT') break;
  }
  return told;
}

/** The line, counted from 1, that the tool blames, or undefined. */
function lineToldBy(stderr: string, lines: readonly string[]): number | undefined {
  const told = LINE_TOLD.map((pattern) => pattern.exec(stderr)?.[1]).find((number) => number !== undefined);
  if (told === undefined) return undefined;
  const missing = MISSING_CHAIN.exec(stderr)?.[1];
  const line = missing === undefined ? Number(told) : lineOfJump(lines, missing, Number(told));
  return Math.min(Math.max(line, 1), lines.length); // a missing COMMIT is blamed on the line after the last
}

function refusal(
  tool: string,
  sentence: string,
  line: number | undefined,
  lines: readonly string[],
): Failure {
  const base = { code: 'EINVAL', kernel: sentence, errno: 22 };
  if (line === undefined)
    return { ...base, message: `${tool}: ${sentence || 'failed without a word'}`, operation: tool };
  const text = lines[line - 1] ?? '';
  return {
    ...base,
    message: `${tool}: line ${line}, "${text}": ${sentence}`,
    operation: text,
    index: line - 1,
  };
}

/** The error for a restore of `lines` that did not succeed. */
export function restoreError(failure: ToolFailure, lines: readonly string[]): KernelError {
  const { tool, stderr } = failure;
  const plain = plainError(failure);
  if (plain !== undefined) return plain;
  const several = [...stderr.matchAll(COMMIT_REFUSAL)].map(([, line, sentence = '']) =>
    refusal(tool, sentence, Number(line), lines),
  );
  const [first, ...rest] = several;
  if (first !== undefined) return new KernelError([first, ...rest]);
  return new KernelError([refusal(tool, sentenceOf(stderr), lineToldBy(stderr, lines), lines)]);
}

/** The error for any other call of a tool that did not succeed. */
export function toolError(failure: ToolFailure): KernelError {
  return (
    plainError(failure) ?? new KernelError([refusal(failure.tool, sentenceOf(failure.stderr), undefined, [])])
  );
}

/** The error for a change that waited for the lock in vain. */
export function lockHeld(operation: string, kernel = ''): KernelError {
  const why = 'another program kept the xtables lock (/run/xtables.lock) for longer than we wait';
  return new KernelError([{ code: 'EAGAIN', errno: 11, message: `${operation}: ${why}`, operation, kernel }]);
}

/** Failures that are no line's fault. */
function plainError({ tool, stderr, status, signal }: ToolFailure): KernelError | undefined {
  const sentence = sentenceOf(stderr);
  const because = (code: string, errno: number, text: string) =>
    new KernelError([{ code, errno, message: `${tool}: ${text}`, operation: tool, kernel: sentence }]);
  if (status === null) return because('INTERNAL', 0, `was ended by ${signal}`);
  if (/holding the xtables lock/.test(stderr)) return lockHeld(tool, sentence);
  if (/you must be root|Permission denied/.test(stderr))
    return because('EPERM', 1, 'needs root (CAP_NET_ADMIN)');
  return undefined;
}

/**
 * The error for the first line that is not one line: a line break inside would smuggle in another and shift every
 * number that the tool tells. `offset` is where `lines` begin among all.
 */
export function brokenLine(lines: readonly string[], offset = 0): KernelError | undefined {
  const at = lines.findIndex((line) => line.includes('\n') || line.includes('\0'));
  if (at === -1) return undefined;
  const [text, index] = [lines[at] ?? '', offset + at];
  const message = `line ${index + 1} must not hold a line break or NUL: ${JSON.stringify(text)}`;
  return new KernelError([{ code: 'INVALID', message, operation: text, kernel: '', errno: 0, index }]);
}
