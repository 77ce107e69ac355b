// The words of doctor: a check, the question it puts to the machine, and the answer. Pure.
// Guarantees: a check is data; nothing in it runs until a Machine is asked.

/** How much Trellis depends on a thing: only a missing `required` one makes doctor fail. */
export type Need = 'required' | 'recommended' | 'optional';

/** `low`: there, but below the recommended value. `unknown`: it could not be asked. */
export type State = 'present' | 'missing' | 'low' | 'unknown';

export interface Answer {
  readonly state: State;
  /** What was found: a version, a number, a layout, or the kernel's own words. */
  readonly found: string;
}

/** Runs in a throw-away namespace; exit code 0 means that the kernel has the feature. */
export interface KernelProbe {
  readonly kind: 'kernel';
  readonly tool: string;
  readonly script: string;
}

/** Reads the first of the files that exists and judges its text. */
export interface FileProbe {
  readonly kind: 'file';
  readonly paths: readonly string[];
  readonly judge: (text: string) => Answer;
}

/** Looks for a program and asks it for its version, or for what the judge then reads. */
export interface ToolProbe {
  readonly kind: 'tool';
  readonly name: string;
  readonly versionArgs: readonly string[];
  readonly judge?: (output: string) => Answer;
}

type Probe = KernelProbe | FileProbe | ToolProbe;

export interface Check<P extends Probe = Probe> {
  readonly id: string;
  readonly section: string;
  readonly title: string;
  readonly need: Need;
  readonly purpose: string;
  /** How to get it, for the person who lacks it. */
  readonly remedy: string;
  readonly probe: P;
}

/** What the machine said to a check's probe, before it is judged. */
export type Observation =
  | { readonly kind: 'exit'; readonly code: number; readonly output: string }
  | { readonly kind: 'text'; readonly text: string | null }
  | { readonly kind: 'program'; readonly path: string | null; readonly output: string }
  | { readonly kind: 'unasked'; readonly why: string };

export const present = (found: string): Answer => ({ state: 'present', found });
export const missing = (found: string): Answer => ({ state: 'missing', found });
