// Reads what the sanitizers wrote about a Node process, and tells our faults from Node's own habits; reads what the
// native tests printed. Pure.
// Guarantees: any error of memory or behaviour counts; a leak counts when our addon asked for the memory; a run of the
// native tests that was cut short has a failure.

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

const HEADLINE = /^SUMMARY: .*Sanitizer.*$|^.*runtime error: .*$|^no test has .* in its name$/m;

/**
 * Counts and failures of a run of the native tests. One that was cut short, by a sanitizer's report or otherwise, has a
 * failure more: the test that ran when it ended, with the report's headline.
 */
export function readNativeRun(output, code) {
  const failures = [...output.matchAll(/^ {2}(.+): FAILED\n((?: {4}.*\n)*)/gm)].map(
    ([, name, text]) => `native > ${name}\n${text.replaceAll(/^ {4}/gm, '').trimEnd()}`,
  );
  const [, passed, failed, skipped] = output.match(/^(\d+) passed, (\d+) failed, (\d+) skipped$/m) ?? [];
  const headline = output.match(HEADLINE)?.[0];
  const isCut = passed === undefined || (code !== 0 && Number(failed) === 0) || headline !== undefined;
  if (isCut) failures.push(`native > ${lastTest(output)}\n${headline ?? `ended with exit code ${code}`}`);
  return {
    passed: Number(passed ?? 0),
    failed: Number(failed ?? 0) + (isCut ? 1 : 0),
    skipped: Number(skipped ?? 0),
    failures,
  };
}

// A name is printed before its test runs, and stands alone on its line when it passed.
const lastTest = (output) =>
  output
    .match(/^ {2}\S.*$/gm)
    ?.at(-1)
    ?.trim() ?? 'before the first test';
