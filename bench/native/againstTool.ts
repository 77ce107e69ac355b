// One job of the core in a fresh network namespace, against a tool that is told to do the same by its standard input.
import { compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

interface Job {
  readonly name: string;
  readonly runs: number;
  /** What both find in the namespace. */
  prepare(netns: string): Promise<void>;
  run(netns: string): Promise<void>;
  readonly tool: {
    readonly name: string;
    readonly command: readonly [string, ...string[]];
    readonly input: string;
  };
}

export function againstTool({ name, runs, prepare, run, tool }: Job): Promise<Figure> {
  const inNamespace = {
    async prepare() {
      const netns = await benchNetNs();
      await prepare(netns);
      return netns;
    },
    clean: removeNetNs,
  };
  return compare({
    name,
    runs,
    atMost: 1,
    ours: { ...inNamespace, name: 'ours', run },
    peer: {
      ...inNamespace,
      name: tool.name,
      async run(netns) {
        await runTool(tool.command, { netns, input: tool.input });
      },
    },
  });
}

/** Opens, uses and closes a port to the kernel. */
export async function using<Port extends { close(): void }>(
  opening: Promise<Port>,
  use: (port: Port) => Promise<void>,
): Promise<void> {
  const port = await opening;
  await use(port);
  port.close();
}
