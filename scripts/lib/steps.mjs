// One line on the terminal for each thing that set-up does, with its time.
// Guarantees: anything above a second shows that it is alive; without a terminal only whole lines are written.
const FRAMES = ['|', '/', '-', '\\'];
const QUIET_MS = 1000;
const FRAME_MS = 120;

/** `write` gets text as it is to appear; `tty` allows redrawing a line. */
export function createSteps({
  write = (text) => void process.stderr.write(text),
  tty = process.stderr.isTTY === true,
  now = () => performance.now(),
} = {}) {
  const done = [];
  return {
    /** Titles of what was done so far. */
    done,

    /** Runs the work under a title; the line ends in the time it took, or in "failed". */
    async step(title, work) {
      const started = now();
      const progress = showProgress({ write, tty, title, elapsed: () => now() - started });
      try {
        const result = await work();
        progress.stop();
        write(`  done    ${title} (${seconds(now() - started)})\n`);
        done.push(title);
        return result;
      } catch (error) {
        progress.stop();
        write(`  failed  ${title} (${seconds(now() - started)})\n`);
        throw error;
      }
    },

    /** A text of one or more lines that is not a step. */
    note(text) {
      write(`${text}\n`);
    },
  };
}

export function seconds(ms) {
  return ms < 10_000 ? `${(ms / 1000).toFixed(2)} s` : `${(ms / 1000).toFixed(0)} s`;
}

function showProgress({ write, tty, title, elapsed }) {
  if (!tty) {
    const timer = setTimeout(() => write(`  ...     ${title}\n`), QUIET_MS);
    return { stop: () => clearTimeout(timer) };
  }
  let frame = 0;
  const draw = () => {
    const time = elapsed() < QUIET_MS ? '' : ` ${Math.floor(elapsed() / 1000)} s`;
    write(`\r\x1b[K  ${FRAMES[frame++ % FRAMES.length]}       ${title}${time}`);
  };
  draw();
  const timer = setInterval(draw, FRAME_MS);
  return {
    stop() {
      clearInterval(timer);
      write('\r\x1b[K');
    },
  };
}
