// Runs one CNI plugin as a runtime does: variables, configuration on standard input, result on standard output.
// Guarantees: the plugin sees only the CNI variables it is given, and its end is told whole: code, signal, both streams.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { inTree } from '../../../scripts/lib/tree.mjs';

export const OURS = inTree('dist', 'cni');
/** Ours with fault points, which the shipped ones have not. */
const FAULTY = inTree('build', 'cni-faults');
export const REFERENCE = '/usr/lib/cni';

export type Command = 'ADD' | 'DEL' | 'CHECK' | 'GC' | 'STATUS' | 'VERSION';

export interface Call {
  /** The folder of the plugin; others that it runs are found there too. */
  readonly bin: string;
  readonly plugin: string;
  readonly command: Command;
  /** The namespace that is the host. Without one the plugin runs where we do: for those that touch only files. */
  readonly host?: string;
  readonly netns?: string;
  readonly containerId?: string;
  readonly ifName?: string;
  readonly args?: string;
  /** More variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** An object, or the text itself. */
  readonly config: object | string;
  /** A step of ADD at which the plugin dies. */
  readonly fault?: string;
  /** A command in front of it, like `unshare -m`. */
  readonly wrapper?: readonly string[];
}

export interface Answer {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

interface PluginFailure {
  readonly cniVersion: string;
  readonly code: number;
  readonly msg: string;
  readonly details?: string;
}

export function callPlugin(call: Call): Promise<Answer> {
  const enter = call.host === undefined ? [] : ['nsenter', `--net=${call.host}`];
  const [program = '', ...rest] = [...enter, ...(call.wrapper ?? []), path.join(binOf(call), call.plugin)];
  const child = spawn(program, rest, { env: environment(call), stdio: 'pipe' });
  const text = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text.out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text.err += chunk;
  });
  child.stdin.on('error', () => undefined); // it may answer without having read
  child.stdin.end(typeof call.config === 'string' ? call.config : JSON.stringify(call.config));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, ...text }));
  });
}

const binOf = ({ bin, fault }: Call): string => (fault === undefined ? bin : FAULTY);

/** The result of a call that must succeed: parsed, or undefined where the plugin says nothing. */
export async function succeed<T = unknown>(call: Call): Promise<T> {
  const answer = await callPlugin(call);
  if (answer.code !== 0)
    throw new Error(
      `${call.bin}/${call.plugin} ${call.command}: ${answer.out}${answer.err}${answer.signal ?? ''}`,
    );
  return (answer.out === '' ? undefined : JSON.parse(answer.out)) as T;
}

/** The error of a call that must fail; nothing else may be on either stream. */
export async function failureOf(call: Call): Promise<PluginFailure> {
  const answer = await callPlugin(call);
  if (answer.code === 0) throw new Error(`${call.plugin} ${call.command} succeeded: ${answer.out}`);
  if (answer.err !== '') throw new Error(`${call.plugin} ${call.command} wrote: ${answer.err}`);
  return JSON.parse(answer.out) as PluginFailure;
}

function environment(call: Call): Record<string, string> {
  const pass = (name: string, value: string | undefined) => (value === undefined ? {} : { [name]: value });
  return {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    CNI_COMMAND: call.command,
    CNI_CONTAINERID: call.containerId ?? 'c1',
    CNI_IFNAME: call.ifName ?? 'eth0',
    CNI_PATH: call.bin === REFERENCE ? call.bin : `${call.bin}:${REFERENCE}`,
    ...pass('CNI_NETNS', call.netns),
    ...pass('CNI_ARGS', call.args),
    ...pass('TRELLIS_CNI_FAULT', call.fault),
    ...call.environment,
  };
}
