// Runs the native unit tests, which replay the corpora and regressions of the fuzz targets too.
// Guarantees: the output is seen as it comes; a report of a sanitizer or a missing count never passes for a good run.
import { readNativeRun } from './reports.mjs';
import { showAndKeep } from './run.mjs';
import { buildSanitized, MissingTools, nativeTests, sanitizerEnvironment } from './sanitized.mjs';
import { createSteps } from './steps.mjs';
import { root } from './tree.mjs';

/** Resolves to `{ code, counts }`; `words` are the arguments of the program: the part of a name, or nothing. */
export async function runNativeTests({ sanitizer = 'address', words = [] } = {}) {
  const options = { cwd: root, env: sanitizerEnvironment() };
  const { code, output } = await showAndKeep(nativeTests(sanitizer), words, options);
  const counts = readNativeRun(output, code);
  return { code: counts.failed > 0 ? code || 1 : code, counts };
}

/**
 * Starts to build them beside other work. The function returned waits for that, tells what was done and runs them. Where
 * the tools are missing they are skipped, as every suite whose tools are missing, and fail under CI.
 */
export function prepareNativeTests({ isBeside }) {
  const lines = [];
  const steps = isBeside ? createSteps({ write: (text) => lines.push(text), tty: false }) : createSteps();
  const build = buildSanitized(steps, ['native_tests'], { isBeside }).then(
    () => undefined,
    (error) => error,
  );
  return async ({ words }) => {
    const error = await build;
    process.stderr.write(lines.join(''));
    if (error instanceof MissingTools && process.env.CI === undefined) {
      process.stderr.write(`Skipped: ${error.message}\n`);
      return { code: 0, counts: { passed: 0, failed: 0, skipped: 1 } };
    }
    if (error !== undefined) {
      const text = error.report?.() ?? error.message;
      process.stderr.write(`${text}\n`);
      return { code: 1 };
    }
    return runNativeTests({ words });
  };
}
