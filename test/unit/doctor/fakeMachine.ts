// A machine for doctor's tests, made of plain tables.
// Guarantees: answers the sandbox script in the same format as a real shell, for the questions it was asked.
import type { Machine } from '../../../src/doctor/machine.js';

export interface FakeMachineState {
  readonly files?: Record<string, string>;
  readonly tools?: Record<string, string>;
  /** By check id: exit code and output; any other question gets exit code 0. */
  readonly kernel?: Record<string, { code: number; output: string }>;
  readonly sandboxRefused?: string;
}

export class FakeMachine implements Machine {
  readonly #state: FakeMachineState;

  readonly scripts: string[] = [];

  constructor(state: FakeMachineState) {
    this.#state = state;
  }

  async readFile(file: string) {
    return this.#state.files?.[file] ?? null;
  }

  async findTool(name: string) {
    return this.#state.tools !== undefined && name in this.#state.tools ? `/fake/${name}` : null;
  }

  async runTool(file: string) {
    return this.#state.tools?.[file.slice('/fake/'.length)] ?? '';
  }

  async runInSandbox(script: string) {
    this.scripts.push(script);
    if (this.#state.sandboxRefused !== undefined) return { reason: this.#state.sandboxRefused };
    const ids = [...script.matchAll(/printf '%s\\0%s\\0%s\\0' '([^']+)'/g)].map((match) => match[1] ?? '');
    const lines = ids.map((id) => {
      const { code, output } = this.#state.kernel?.[id] ?? { code: 0, output: '' };
      return `${id}\0${code}\0${output}\0`;
    });
    return { output: lines.join('') };
  }
}
