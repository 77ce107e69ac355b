// Shows the steps of a start: in place with a spinner on a terminal, one line a finished step elsewhere.
// Guarantees: every step that ended has its line with its time; nothing is drawn over after `end`.
import type { Step } from '../../cluster/steps.js';
import type { Terminal } from '../terminal.js';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
const WIDTH = 80;

interface StepView {
  show(step: Step): void;
  end(): void;
}

export function makeStepView(terminal: Terminal, live: boolean): StepView {
  const running = new Set<string>();
  let frame = 0;
  let drawn = false;
  const erase = () => {
    if (drawn) terminal.write('\r\x1b[K');
    drawn = false;
  };
  const draw = () => {
    if (!live || running.size === 0) return;
    erase();
    frame = (frame + 1) % FRAMES.length;
    // A line that the terminal breaks in two could not be erased as one.
    const text = `  ${FRAMES[frame]} ${[...running].join(', ')}`;
    const room = (terminal.columns ?? WIDTH) - 1;
    terminal.write(text.length > room ? `${text.slice(0, room - 1)}…` : text);
    drawn = true;
  };
  const timer = live ? setInterval(draw, FRAME_MS) : undefined;
  return {
    show(step) {
      if (step.type === 'begin') running.add(step.name);
      if (step.type === 'done' || step.type === 'failed') running.delete(step.name);
      const line = lineOf(step);
      if (line !== undefined) {
        erase();
        terminal.write(line);
      }
      draw();
    },
    end() {
      clearInterval(timer);
      erase();
    },
  };
}

function lineOf(step: Step): string | undefined {
  switch (step.type) {
    case 'done':
      return `  ✓ ${step.name.padEnd(24)} ${duration(step.ms).padStart(8)}${step.detail === undefined ? '' : `  ${step.detail}`}\n`;
    case 'failed':
      return step.name === '' ? undefined : `  ✗ ${step.name}\n`;
    case 'note':
      return `    ${step.name}: ${step.text}\n`;
    default:
      return undefined;
  }
}

export function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
