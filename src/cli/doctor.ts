// `trellis doctor`: what this machine has of what Trellis uses.
// Guarantees: changes nothing on the machine; exit code 1 only when something required is missing.
import { Command, Option } from 'commander';
import { allChecks } from '../doctor/checks/index.js';
import { examine } from '../doctor/examine.js';
import { renderJson, renderTable } from '../doctor/render.js';
import type { Terminal } from './terminal.js';

const EXPLANATION = `
Kernel features are tested in namespaces that are removed a second later. The host does not change, except that the
kernel may load a module for a test. "unknown" means that a test could not be run.

Exit code: 0 if nothing required is missing, 1 otherwise, 2 for a wrong command line.

Examples:
  trellis doctor                   a table for people
  trellis doctor -o json | jq '.findings[] | select(.state == "missing") | .title'
`;

export function doctorCommand(terminal: Terminal): Command {
  return new Command('doctor')
    .summary('show what this machine has and lacks')
    .description('Checks every kernel feature, tool, control group, limit and setting that Trellis uses.')
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table'),
    )
    .addHelpText('after', EXPLANATION)
    .action(async ({ output }: { output: 'table' | 'json' }) => {
      const report = await examine(allChecks, terminal.machine);
      terminal.write(
        output === 'json' ? renderJson(report) : renderTable(report, { colour: terminal.colour }),
      );
      if (!report.ok) terminal.setExitCode(1);
    });
}
