// Runs a command and keeps its output to itself unless it fails.
// Guarantees: stdout and stderr stay in the order they were written, and a failure carries all of both.
import { spawn } from 'node:child_process';

/** A command that could not start or ended with an error; `report()` is the text for a person. */
export class CommandFailed extends Error {
  constructor({ command, outcome, output }) {
    super(`${command}: ${outcome}`);
    this.command = command;
    this.outcome = outcome;
    this.output = output;
  }

  report() {
    const body = this.output.trim() === '' ? '(it printed nothing)' : this.output.trimEnd();
    return `$ ${this.command}\n${body}\n(${this.outcome})`;
  }
}

/** Resolves to the output of the command; rejects with CommandFailed. */
export function run(file, args, { cwd, env } = {}) {
  const command = [file, ...args].join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    const output = () => Buffer.concat(chunks).toString('utf8');
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) =>
      reject(new CommandFailed({ command, outcome: error.message, output: output() })),
    );
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output());
      const outcome = code === null ? `ended by ${signal}` : `exit code ${code}`;
      return reject(new CommandFailed({ command, outcome, output: output() }));
    });
  });
}

/** Resolves to the exit code of a command whose output goes straight to the person. */
export function runVisibly(file, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Resolves to `{ code, output }` of a command whose output is shown as it comes, and kept. */
export function showAndKeep(file, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        process.stdout.write(text);
      });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
