// `trellis bench`: the comparisons that this machine can make, told as tables and as a page.
// Guarantees: runs what was built, in a process of its own whose exit code becomes ours.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { projectRoot } from '../kernel/projectRoot.js';
import type { Terminal } from './terminal.js';

const EXPLANATION = `
"host" compares nftables with both back ends of iptables on this machine's kernel; "vm" compares all modes, IPVS too,
in one virtual machine (qemu, or user-mode Linux with TRELLIS_BENCH_MACHINE=uml).

Examples:
  trellis bench proxy
  trellis bench proxy --where host --sizes 100,1000 --out results
`;

interface Flags {
  readonly where: 'all' | 'host' | 'vm';
  readonly sizes?: string;
  readonly runs?: string;
  readonly out?: string;
  readonly fail: boolean;
}

export function benchCommand(terminal: Terminal): Command {
  const proxy = new Command('proxy')
    .summary('compare the proxy modes')
    .description(
      'Compares the proxy modes: how fast rules are written, and what a connection costs. Needs root.',
    )
    .addOption(
      new Option('--where <place>', 'which kernel to use').choices(['all', 'host', 'vm']).default('all'),
    )
    .option(
      '--sizes <numbers>',
      'numbers of services, such as 100,1000 (default: up to 44,000, in the virtual machine 10,000)',
      numbers,
    )
    .option('--runs <number>', 'runs of every mode at every size (default: 3)', wholeNumber)
    .option('--no-fail', 'exit with 0 even if a goal was missed')
    .option('--out <directory>', 'directory for proxy.html and proxy.json (default: build/bench)')
    .addHelpText('after', EXPLANATION)
    .action((flags: Flags) => run(flags, terminal));
  return new Command('bench')
    .summary('run benchmarks on this machine')
    .description('Runs benchmarks on this machine.')
    .addCommand(proxy);
}

async function run({ where, sizes, runs, out, fail }: Flags, terminal: Terminal): Promise<void> {
  const root = projectRoot();
  const main = join(root, 'dist', 'bench', 'main.js');
  if (!existsSync(main)) {
    terminal.writeError(`trellis: the benchmarks are not built: ${main} is missing\n`);
    return terminal.setExitCode(1);
  }
  const env = {
    ...process.env,
    TRELLIS_BENCH_OUT: out ?? join('build', 'bench'),
    ...(sizes === undefined ? {} : { TRELLIS_BENCH_SIZES: sizes }),
  };
  const name = where === 'all' ? 'proxy' : `proxy/${where}`;
  const more = [...(runs === undefined ? [] : ['--runs', runs]), ...(fail ? [] : ['--no-fail'])];
  const child = spawn(process.execPath, [main, name, ...more], { stdio: 'inherit', env });
  const [code] = (await once(child, 'exit')) as [number | null];
  terminal.setExitCode(code ?? 1);
}

function wholeNumber(text: string): string {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a whole number of at least 1.');
  return text;
}

function numbers(text: string): string {
  if (!/^[1-9]\d*(,[1-9]\d*)*$/.test(text))
    throw new InvalidArgumentError('must be whole numbers with commas between, such as 100,1000.');
  return text;
}
