// Finds a plugin's executable, runs it once and reads its answer.
// Guarantees: whatever a plugin does (fail, hang, crash, print garbage, be missing) becomes one CniError that says so.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../base/errorMessage.js';
import type { Attachment } from './attachment.js';
import { type ChildResult, runChild } from './child.js';
import { CniError, type CniErrorFields } from './error.js';
import { type Command, environment } from './execution.js';
import { isObject, type JsonObject, type JsonValue } from './json.js';

export interface PluginRunner {
  /** Where executables are looked for, in order. */
  readonly binDirs: readonly string[];
  readonly timeoutMs: number;
  /** Plugins see this network namespace as the host's; ours if left out. */
  readonly hostNetNs?: string | undefined;
}

export interface PluginCall {
  readonly plugin: string;
  readonly command: Command;
  readonly config: JsonObject;
  readonly attachment?: Attachment;
}

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const SHOWN_BYTES = 400;

/** What the plugin printed on success, unread. */
export async function callPlugin(runner: PluginRunner, call: PluginCall): Promise<string> {
  const { plugin, command, config, attachment } = call;
  const { binDirs, timeoutMs, hostNetNs } = runner;
  const file = await findPlugin(plugin, binDirs);
  if (hostNetNs !== undefined) await checkNetNs(hostNetNs);
  const argv: [string, ...string[]] =
    hostNetNs === undefined ? [file] : ['nsenter', `--net=${hostNetNs}`, '--', file];
  const env = { ...process.env, ...environment({ command, binDirs, ...(attachment && { attachment }) }) };
  let result: ChildResult;
  try {
    result = await runChild(argv, {
      input: JSON.stringify(config),
      env,
      timeoutMs,
      maxOutputBytes: MAX_OUTPUT_BYTES,
    });
  } catch (cause) {
    const message = `plugin ${plugin} could not be run (${argv.join(' ')}): ${messageOf(cause)}`;
    throw new CniError('PLUGIN_CRASHED', message, { plugin, command, cause });
  }
  const failure = failureOf(call, result, timeoutMs);
  if (failure !== undefined) throw failure;
  return result.stdout;
}

/** The same for commands that answer with JSON. */
export async function askPlugin(runner: PluginRunner, call: PluginCall): Promise<JsonValue> {
  const output = await callPlugin(runner, call);
  try {
    return JSON.parse(output) as JsonValue;
  } catch (cause) {
    throw badOutput(call, `printed no JSON: ${excerpt(output)}`, cause);
  }
}

export function badOutput({ plugin, command }: PluginCall, what: string, cause?: unknown): CniError {
  return new CniError('PLUGIN_OUTPUT', `plugin ${plugin} succeeded in ${command} but ${what}`, {
    plugin,
    command,
    cause,
  });
}

async function findPlugin(plugin: string, binDirs: readonly string[]): Promise<string> {
  for (const dir of binDirs) {
    const file = path.join(dir, plugin);
    if (await isExecutable(file)) return file;
  }
  const where = binDirs.length > 0 ? binDirs.join(', ') : 'no directory at all';
  throw new CniError('PLUGIN_NOT_FOUND', `plugin ${plugin} was not found as an executable in ${where}`, {
    plugin,
  });
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false; // absent or not executable: both mean that it cannot be run from here
  }
}

async function checkNetNs(netns: string): Promise<void> {
  await access(netns).catch((cause: unknown) => {
    throw new CniError('ARGUMENT_INVALID', `the host's network namespace ${netns} is not there`, { cause });
  });
}

function failureOf(call: PluginCall, result: ChildResult, timeoutMs: number): CniError | undefined {
  const { plugin, command } = call;
  const { status, signal, stdout, stderr, killed } = result;
  const fields: CniErrorFields = { plugin, command, details: stderr.trim() };
  const name = `plugin ${plugin} (${command})`;
  if (killed === 'time')
    return new CniError(
      'PLUGIN_TIMEOUT',
      `${name} did not end within ${timeoutMs} ms and was killed`,
      fields,
    );
  if (killed === 'output')
    return new CniError(
      'PLUGIN_OUTPUT',
      `${name} printed more than ${MAX_OUTPUT_BYTES} bytes and was killed`,
      fields,
    );
  if (status === 0) return undefined;
  const said = errorIn(stdout);
  if (said !== undefined) {
    const details = [said.details, stderr.trim()].filter((part) => part !== '').join('\n');
    return new CniError('PLUGIN_FAILED', `${name} failed: ${said.msg} (code ${said.code})`, {
      ...fields,
      cniCode: said.code,
      msg: said.msg,
      details,
    });
  }
  const how = signal === null ? `ended with status ${status}` : `was ended by ${signal}`;
  const words = stdout.trim() === '' ? 'without an error message' : `and printed ${excerpt(stdout)}`;
  const heard = stderr.trim() === '' ? '' : `; standard error: ${excerpt(stderr)}`;
  return new CniError('PLUGIN_CRASHED', `${name} ${how} ${words}${heard}`, fields);
}

function errorIn(stdout: string): { code: number; msg: string; details: string } | undefined {
  try {
    const value = JSON.parse(stdout) as JsonValue;
    if (!isObject(value)) return undefined;
    const { code, msg, details } = value;
    if (typeof code !== 'number' || typeof msg !== 'string') return undefined;
    return { code, msg, details: typeof details === 'string' ? details : '' };
  } catch {
    return undefined; // not JSON: the caller shows the words as they are
  }
}

function excerpt(text: string): string {
  const trimmed = text.trim();
  return JSON.stringify(trimmed.length > SHOWN_BYTES ? `${trimmed.slice(0, SHOWN_BYTES)}...` : trimmed);
}
