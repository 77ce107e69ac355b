// The form of the C++ sources, by .clang-format. Guarantees: without the program nothing is found, and that is said; under CI
// its absence is a finding, for there nobody reads what was said.
import { isThere } from './packages.mjs';
import { CommandFailed, run } from './run.mjs';

const TOOL = 'clang-format-14';

export const isCpp = (path) => /\.(cc|h|c)$/.test(path);

/** The findings; with `write` the files are formatted instead. */
export async function cppFindings({
  files,
  write = false,
  cwd,
  ci = process.env.CI !== undefined,
  isInstalled = () => isThere({ tool: TOOL }),
  say = (text) => void process.stderr.write(text),
  start = run,
}) {
  if (!isInstalled()) {
    const absent = `${TOOL} is not installed: the C++ sources were not checked`;
    if (ci) return [absent];
    say(`${absent}\n`);
    return [];
  }
  const [first, ...others] = write ? ['-i'] : ['--dry-run', '--Werror'];
  try {
    await start(TOOL, [first, ...others, ...files], { cwd });
    return [];
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return findingsIn(error.output);
  }
}

/** One line for each place, of the several that the program writes. */
function findingsIn(output) {
  const places = [...output.matchAll(/^([^:\n]+:\d+):\d+: error: /gm)].map(([, place]) => place);
  if (places.length === 0) return [output.trim()];
  return [...new Set(places)].map(
    (place) => `${place}: not in the form of .clang-format; run npm run format`,
  );
}
