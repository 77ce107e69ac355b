// The end of a script that failed: what happened, in full, and what to do about it.
// Guarantees: exit code 1, and no stack trace for failures that are not faults of the scripts themselves.
import { MissingForBuild } from './apt.mjs';
import { UnknownLevel } from './levels.mjs';
import { CommandFailed } from './run.mjs';

const ADVICE = [
  [
    /npm-cli\.js ci|npm ci/,
    'Check that the npm registry can be reached (npm ping) and run the command again.',
  ],
  [/node-gyp/, 'The C++ build failed. If it could not fetch headers, install a Node that comes with them.'],
  [/typescript/, 'Fix the errors above; `npm run build` compiles again.'],
];

/** What to do about a failed command. */
export function adviceFor(command) {
  return (
    ADVICE.find(([pattern]) => pattern.test(command))?.[1] ?? 'Put right what is said above and run it again.'
  );
}

export function reportFailure(error) {
  process.exitCode = 1;
  process.stderr.write(`${failureText(error)}\n`);
}

/** The text for a person; anything unforeseen keeps its stack. */
export function failureText(error) {
  if (error instanceof CommandFailed) return `\n${error.report()}\n\n${adviceFor(error.command)}`;
  if (error instanceof MissingForBuild || error instanceof UnknownLevel) return error.message;
  if (error.code === 'EACCES' || error.code === 'EPERM') {
    return `${error.message}\nThe source tree belongs to another user: run as that user, or make a clone of your own.`;
  }
  if (error.code === 'EROFS' || error.code === 'ENOSPC')
    return `${error.message}\nThe source tree cannot be written to.`;
  return error.stack ?? String(error);
}
