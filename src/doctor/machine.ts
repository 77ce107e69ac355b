// Everything that doctor reads of its machine is read here.
// Guarantees: looking leaves nothing behind and never takes longer than its deadline.
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SEARCH_PATH, UNPRIVILEGED_ARGS, UNSHARE_ARGS } from './sandbox.js';

const DEADLINE_MS = 10_000;

export interface Machine {
  /** Null when there is no such file or it may not be read; a `.gz` file comes unpacked. */
  readFile(file: string): Promise<string | null>;
  /** Where the program is, or null. */
  findTool(name: string): Promise<string | null>;
  /** All that the program printed, whatever its exit code. */
  runTool(file: string, args: readonly string[]): Promise<string>;
  /** Runs a shell script in throw-away namespaces; `reason` says why there could be none. */
  runInSandbox(script: string): Promise<{ output: string } | { reason: string }>;
}

export const thisMachine: Machine = {
  async readFile(file) {
    try {
      const bytes = await readFile(file);
      return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(codeOf(error))) return null;
      throw error;
    }
  },

  async findTool(name) {
    for (const dir of `${process.env['PATH'] ?? ''}:${SEARCH_PATH}`.split(':')) {
      const file = path.join(dir, name);
      if (dir !== '' && (await isExecutable(file))) return file;
    }
    return null;
  },

  async runTool(file, args) {
    const { stdout, stderr } = await run(file, args);
    return `${stdout}\n${stderr}`;
  },

  async runInSandbox(script) {
    const args = process.getuid?.() === 0 ? UNSHARE_ARGS : UNPRIVILEGED_ARGS;
    const { stdout, stderr, failure } = await run('unshare', [...args, 'sh', '-c', script]);
    // The script's last command is a printf: without any output the shell was never started.
    if (stdout !== '') return { output: stdout };
    return { reason: failure === 'ENOENT' ? 'the tool unshare is missing' : stderr.trim() };
  },
};

function run(file: string, args: readonly string[]) {
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:${SEARCH_PATH}`, LC_ALL: 'C' };
  return new Promise<{ stdout: string; stderr: string; failure: string }>((resolve) => {
    const child = execFile(
      file,
      args,
      { env, timeout: DEADLINE_MS, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => resolve({ stdout, stderr, failure: error === null ? '' : codeOf(error) }),
    );
    child.stdin?.end();
  });
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or not executable: both mean that it cannot be run
  }
}

const codeOf = (error: unknown) => String((error as NodeJS.ErrnoException).code);
