#!/usr/bin/env node
// Entry point of `trellis`: hands the command line to the program.
// Guarantees: a reader that goes away (`trellis doctor | head`) ends it quietly.
import { runProgram } from './program.js';
import { processTerminal } from './terminal.js';

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode);
    throw error;
  });
}

await runProgram(process.argv.slice(2), processTerminal());
