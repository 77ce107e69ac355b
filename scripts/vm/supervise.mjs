// Starts a machine, sends it its job, passes its output on, and sees it out.
// Guarantees: when the promise settles, every process of the machine is gone.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ConsoleLog } from './consoleLog.mjs';
import { VmError } from './errors.mjs';

/** Descriptors of the machine's process. 0 to 2 are nothing and twice the kernel's console. */
export const channelFds = Object.freeze({ control: 3, stdout: 4, stderr: 5 });

/** The descriptors that the machine finds the named files at, in the order of their names here. */
export function fileFds(files) {
  return Object.fromEntries(Object.keys(files).map((name, index) => [name, 6 + index]));
}

const bootLimitMs = 120_000;
const shutdownLimitMs = 10_000;

/**
 * Resolves with the command's exit code and the times; rejects with VmError. `signal` (an AbortSignal)
 * ends the machine. `onConsole` gets the kernel's console as it comes.
 */
export function supervise({ argv, job, files, stdout, stderr, timeoutMs, signal, onReady, onConsole }) {
  return new Promise((resolve, reject) => {
    const elapsed = () => performance.now(); // since the start of this process
    const log = new ConsoleLog();
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', ...files];
    const machine = spawn(argv[0], argv.slice(1), { stdio, detached: true });

    let code = null;
    let bootMs = null;
    let failure = null;
    const timers = new Set();
    const end = (error) => {
      failure ??= error;
      machine.kill('SIGKILL');
    };
    const endAfter = (ms, error) => timers.add(setTimeout(() => end(error?.()), ms));

    const aborted = () => end(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    const bootTimer = setTimeout(
      () => end(bootError(`no sign of life after ${bootLimitMs / 1000} s`, log)),
      bootLimitMs,
    );
    timers.add(bootTimer);
    if (timeoutMs > 0) endAfter(timeoutMs, () => timeoutError(timeoutMs, bootMs, log));

    for (const stream of [machine.stdout, machine.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        log.add(text);
        onConsole?.(text);
      });
    }
    const control = machine.stdio[channelFds.control];
    for (const fd of Object.values(channelFds)) machine.stdio[fd].on('error', ignoreHangUp);
    machine.stdio[channelFds.stdout].pipe(stdout, { end: false });
    machine.stdio[channelFds.stderr].pipe(stderr, { end: false });
    createInterface({ input: control }).on('line', (line) => {
      if (line === 'ready') {
        bootMs = elapsed();
        clearTimeout(bootTimer);
        onReady?.(bootMs);
        control.write(job);
      } else if (line.startsWith('exit ')) {
        code = Number(line.slice('exit '.length));
        endAfter(shutdownLimitMs); // it powers itself off; if it cannot, we have all we came for
      }
    });

    const settle = () => {
      for (const timer of timers) clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
    };
    machine.on('error', (cause) => {
      settle();
      reject(new VmError('BOOT_FAILED', `cannot start ${argv[0]}: ${cause.message}`, { cause }));
    });
    machine.on('close', () => {
      settle();
      if (failure) reject(failure);
      else if (code !== null) resolve({ code, bootMs, totalMs: elapsed() });
      else if (bootMs === null) reject(bootError('it stopped before it was ready', log));
      else reject(diedError(log));
    });
  });
}

// The machine's end of a channel goes away with it; what matters was read before.
function ignoreHangUp(error) {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
}

function bootError(what, log) {
  return new VmError('BOOT_FAILED', `the machine did not boot: ${what}`, { consoleLines: log.lines() });
}

function diedError(log) {
  const text = 'the machine stopped before the command ended (a kernel panic?)';
  return new VmError('MACHINE_DIED', text, { consoleLines: log.lines() });
}

function timeoutError(timeoutMs, bootMs, log) {
  const where = bootMs === null ? 'while it was booting' : 'while the command was running';
  const text = `the time limit of ${timeoutMs / 1000} s was reached ${where}`;
  return new VmError('TIMEOUT', text, { consoleLines: bootMs === null ? log.lines() : [] });
}
