// Numbers and durations on a command line.
import { InvalidArgumentError } from 'commander';
import { goDurationMs } from '../base/goDuration.js';

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('expected a whole number');
  return Number(text);
}

export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('expected a whole number above 0');
  return value;
}

export function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new InvalidArgumentError('a port is a number from 1 to 65535');
  return port;
}

/** Milliseconds. */
export function durationMs(text: string): number {
  const value = goDurationMs(text);
  if (value === undefined) throw new InvalidArgumentError('must be a duration such as 40s or 1m30s.');
  return value;
}
