// `trellis cni`: networks of containers by hand, with any CNI plugins.
// Guarantees: standard output holds nothing but results; a failure is told on standard error with exit code 1.
import { access } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import type { Attachment } from '../../cni/attachment.js';
import type { CachedAttachment } from '../../cni/cache.js';
import type { Cni } from '../../cni/cni.js';
import { CniError } from '../../cni/error.js';
import { loadNetworks } from '../../cni/load.js';
import { renderResult } from '../../cni/result.js';
import type { Terminal } from '../terminal.js';
import { installCommand } from './install.js';
import {
  type AttachOptions,
  attachmentFor,
  cniFor,
  networkFor,
  type RunOptions,
  withAttachOptions,
  withRunOptions,
} from './options.js';
import { reporting } from './report.js';

const EXPLANATION = `
Works with any CNI plugins, and keeps results where libcni does: what cnitool, containerd or CRI-O added can be deleted
here and the other way round. NETCONFPATH, CNI_PATH and CNI_IFNAME are read as cnitool reads them.

Exit code: 0 when all went well, 1 otherwise, 2 for a wrong command line.

Examples:
  trellis cni list
  ip netns add demo && trellis cni add mynet /run/netns/demo
  trellis cni del mynet /run/netns/demo
  trellis cni gc mynet       remove what containers left whose namespaces are gone
`;

export function cniCommand(terminal: Terminal): Command {
  const command = new Command('cni')
    .summary('put containers on networks by CNI plugins')
    .description('Runs CNI plugins for a container, by the network configurations of this machine.')
    .addHelpText('after', EXPLANATION);
  command.addCommand(addCommand(terminal));
  command.addCommand(delCommand(terminal));
  command.addCommand(checkCommand(terminal));
  command.addCommand(gcCommand(terminal));
  command.addCommand(statusCommand(terminal));
  command.addCommand(listCommand(terminal));
  command.addCommand(installCommand(terminal));
  return command;
}

const attaching = (name: string, summary: string): Command =>
  withAttachOptions(new Command(name).summary(summary).description(`${capital(summary)}.`))
    .argument('<network>', 'the name in its configuration')
    .argument('<netns>', "the path of the container's network namespace");

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function addCommand(terminal: Terminal): Command {
  return attaching('add', 'put a container on a network and print the result')
    .option('--no-undo', 'leave a failed ADD as it is, for a look at it')
    .action(
      reporting(terminal, async (network: string, netns: string, options: AttachOptions) => {
        const list = await networkFor(network, options);
        const cni = cniFor(options, { undoFailedAdd: options.undo });
        const result = await cni.add(list, attachmentFor(netns, options));
        terminal.write(`${JSON.stringify(renderResult(result, list.cniVersion), null, 4)}\n`);
      }),
    );
}

function delCommand(terminal: Terminal): Command {
  return attaching('del', 'take a container off a network').action(
    reporting(terminal, async (network: string, netns: string, options: AttachOptions) => {
      const { cni, attachment } = known(netns, options);
      await cni.del(await networkFor(network, options, { cni, attachment }), attachment);
    }),
  );
}

function checkCommand(terminal: Terminal): Command {
  return attaching('check', 'ask whether an attachment still is as it was made').action(
    reporting(terminal, async (network: string, netns: string, options: AttachOptions) => {
      const { cni, attachment } = known(netns, options);
      await cni.check(await networkFor(network, options, { cni, attachment }), attachment);
    }),
  );
}

const known = (netns: string, options: AttachOptions): { cni: Cni; attachment: Attachment } => ({
  cni: cniFor(options),
  attachment: attachmentFor(netns, options),
});

const GC_EXPLANATION = `
An attachment is valid while its network namespace is there. The plugins are told which are valid and may remove all
others, so the cache directory must be the one that every runtime on this network uses.
`;

function gcCommand(terminal: Terminal): Command {
  return withRunOptions(new Command('gc').summary('remove what containers that are gone left on a network'))
    .description('Removes every attachment whose network namespace is gone.')
    .argument('<network>', 'the name in its configuration')
    .argument('[netns]', 'count the attachments of this namespace as gone too')
    .option('--all', 'count every attachment as gone')
    .addHelpText('after', GC_EXPLANATION)
    .action(
      reporting(
        terminal,
        async (network: string, netns: string | undefined, options: RunOptions & { all?: true }) => {
          const cni = cniFor(options);
          const list = await networkFor(network, options);
          const removed = await cni.gc(list, async () => {
            const cached = (await cni.cache.list()).filter((attachment) => attachment.network === list.name);
            const alive = await Promise.all(cached.map((attachment) => isAlive(attachment, netns)));
            return options.all === true ? [] : cached.filter((_, i) => alive[i]);
          });
          for (const { containerId, ifName } of removed) terminal.write(`removed ${containerId} ${ifName}\n`);
        },
      ),
    );
}

async function isAlive({ netns }: CachedAttachment, gone: string | undefined): Promise<boolean> {
  if (netns === undefined || (gone !== undefined && netns === path.resolve(gone))) return false;
  return access(netns).then(
    () => true,
    () => false,
  );
}

function statusCommand(terminal: Terminal): Command {
  return withRunOptions(new Command('status').summary('ask whether a network is ready for containers'))
    .description('Asks every plugin of the network whether it is ready.')
    .argument('<network>', 'the name in its configuration')
    .argument('[netns]', 'not looked at; taken so that command lines of cnitool work')
    .action(
      reporting(terminal, async (network: string, _: string | undefined, options: RunOptions) => {
        const status = await cniFor(options).status(await networkFor(network, options));
        terminal.write(status.known ? 'ready\n' : `unknown: ${status.reason}\n`);
      }),
    );
}

function listCommand(terminal: Terminal): Command {
  return withRunOptions(new Command('list').summary('show the networks of this machine'))
    .description(
      'Shows the networks found, in the order in which runtimes look at them, and files that cannot be used.',
    )
    .action(
      reporting(terminal, async ({ confDir }: RunOptions) => {
        const { networks, problems } = await loadNetworks(confDir);
        const rows = networks.map(({ name, cniVersion, plugins, source }) => [
          name,
          cniVersion,
          plugins.map(({ type }) => type).join(','),
          source,
        ]);
        if (rows.length > 0) terminal.write(table([['NAME', 'VERSION', 'PLUGINS', 'FILE'], ...rows]));
        if (networks.length === 0 && problems.length === 0)
          throw new CniError('NETWORK_NOT_FOUND', `no network configuration in ${confDir}`);
        if (problems.length > 0)
          throw new CniError('CONFIG_INVALID', problems.map(({ message }) => message).join('\n'));
      }),
    );
}

function table(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(width(i)))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}
