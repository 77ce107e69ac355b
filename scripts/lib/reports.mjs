// Reads what the sanitizers wrote about a Node process, and tells our faults from Node's own habits. Pure.
// Guarantees: any error of memory or behaviour counts; a leak counts when our addon asked for the memory.

/** Between whoever asks for memory and the sanitizer: the C and C++ libraries. */
const PASSED_THROUGH = /\/(libclang_rt|libasan|libstdc\+\+|libc\.|libc-|libc\+\+)/;

/** V8 keeps pointers where the leak checker does not look, so Node alone "leaks" in every run, also while it loads us. */
const isOurs = (stack) =>
  stack
    .split('\n')
    .find((line) => /^\s*#\d+ /.test(line) && !PASSED_THROUGH.test(line))
    ?.includes('/trellis.node)') ?? false;

/** Lost on purpose by native/test/leaks, to show that the checker works. */
const isPlanted = (stack) => stack.includes('/leaks.node)');

/**
 * The reports in one log: `{ errors, leaks, planted, foreignLeaks }`. The first two are texts, `planted` tells whether the
 * leak made on purpose was seen, the last is a count.
 */
export function readReports(log) {
  const parts = log.split(/^={20,}\n/m).filter((part) => part.trim() !== '');
  const errors = [];
  const leaks = new Set(); // each check tells again what the one before told
  let planted = false;
  let foreignLeaks = 0;
  for (const part of parts) {
    if (!/^==\d+==ERROR: LeakSanitizer/m.test(part)) {
      if (/ERROR: |runtime error: |CHECK failed/.test(part)) errors.push(part.trimEnd());
      continue;
    }
    for (const record of part.split(/\n{2,}/).filter((text) => /^(Direct|Indirect) leak/.test(text))) {
      if (isOurs(record)) leaks.add(record.trimEnd());
      else if (isPlanted(record)) planted = true;
      else foreignLeaks += 1;
    }
  }
  return { errors, leaks: [...leaks], planted, foreignLeaks };
}

/** `{ passed, failed, skipped }` from the last line of the native tests, or null. */
export function readNativeCounts(output) {
  const [, passed, failed, skipped] = output.match(/^(\d+) passed, (\d+) failed, (\d+) skipped$/m) ?? [];
  return passed === undefined
    ? null
    : { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
}
