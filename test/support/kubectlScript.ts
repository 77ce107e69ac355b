// Scripts of kubectl commands with what they print: tables that a test runs against one server.
// Guarantees: a script runs in its own namespace and in order; scripts do not see one another.

export interface Step {
  readonly command: string;
  /** All that is printed, without the last line's end; or what it must look like. */
  readonly prints: string | RegExp;
  readonly input?: string;
  /** The command must fail, and `prints` is about what it says of that. */
  readonly fails?: true;
  /** The minor version of the first kubectl that knows the command, or prints it so. */
  readonly since?: number;
  /** Contents of a program that stands for the person at the editor. */
  readonly editor?: string;
}

export interface Script {
  readonly name: string;
  readonly steps: readonly Step[];
}

type More = Omit<Step, 'command' | 'prints'>;

export const step = (command: string, prints: string | RegExp, more: More = {}): Step => ({
  command,
  prints,
  ...more,
});

export const refused = (command: string, prints: string | RegExp, more: More = {}): Step => ({
  command,
  prints,
  fails: true,
  ...more,
});

/** Words as a shell splits them: quotes keep spaces, and go. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single: string | undefined, double: string | undefined) =>
      String(single ?? double),
    ),
  );
}
