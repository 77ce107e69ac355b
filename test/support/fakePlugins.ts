// Small CNI plugins for tests: shell scripts in a directory of their own that note every call.
// Guarantees: the directory is gone after the test; the notes are in the order in which the plugins were begun.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';

interface Call {
  readonly plugin: string;
  readonly command: string;
  readonly containerId: string;
  readonly netns: string;
  readonly ifName: string;
  readonly args: string;
  readonly path: string;
  readonly stdin: Record<string, unknown>;
}

interface FakePlugins {
  readonly dir: string;
  /** Somewhere for caches and configurations. */
  readonly root: string;
  /** Writes a plugin that notes the call and then runs the shell commands. */
  write(name: string, script: string): void;
  calls(): Call[];
  /** `add-plugin COMMAND` of each call. */
  order(): string[];
}

/** Prints this on ADD, and is content with everything else. */
export const answering = (result: unknown): string =>
  `[ "$CNI_COMMAND" = ADD ] && printf '%s' '${JSON.stringify(result)}'; exit 0`;

export const refusing = (error: unknown): string => `printf '%s' '${JSON.stringify(error)}'; exit 1`;

export function fakePlugins(): FakePlugins {
  let root = '';
  const make = () => {
    if (root === '') root = mkdtempSync(path.join(tmpdir(), 'trellis-cni-'));
    return root;
  };
  afterEach(() => {
    if (root !== '') rmSync(root, { recursive: true, force: true });
    root = '';
  });
  const log = () => path.join(make(), 'calls');
  const calls = (): Call[] => {
    if (!existsSync(log())) return [];
    const lines = readFileSync(log(), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [
        plugin = '',
        command = '',
        containerId = '',
        netns = '',
        ifName = '',
        args = '',
        dirs = '',
        stdin = '',
      ] = line.split('\t');
      return {
        plugin,
        command,
        containerId,
        netns,
        ifName,
        args,
        path: dirs,
        stdin: stdin === '' ? {} : JSON.parse(stdin),
      };
    });
  };
  return {
    get dir() {
      return make();
    },
    get root() {
      return make();
    },
    write(name, script) {
      const file = path.join(make(), name);
      const note = `printf '%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\n' ${name} "$CNI_COMMAND" "$CNI_CONTAINERID" "$CNI_NETNS" "$CNI_IFNAME" "$CNI_ARGS" "$CNI_PATH" "$(cat)" >> '${log()}'`;
      writeFileSync(file, `#!/bin/sh\n${note}\n${script}\n`);
      chmodSync(file, 0o755);
    },
    calls,
    order: () => calls().map(({ plugin, command }) => `${plugin} ${command}`),
  };
}
