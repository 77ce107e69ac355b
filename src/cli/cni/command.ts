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
Works with any CNI plugin, and keeps results where libcni does: attachments added by cnitool, containerd or CRI-O can be
deleted here, and vice versa. It uses NETCONFPATH, CNI_PATH and CNI_IFNAME as cnitool does.

Exit code: 0 on success, 1 otherwise, 2 for a wrong command line.

Examples:
  trellis cni list
  ip netns add demo && trellis cni add mynet /run/netns/demo
  trellis cni del mynet /run/netns/demo
  trellis cni gc mynet       remove attachments of containers that no longer exist
`;

export function cniCommand(terminal: Terminal): Command {
  const command = new Command('cni')
    .summary('attach containers to networks with CNI plugins')
    .description('Runs CNI plugins for a container, with the network configurations of this machine.')
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
  return attaching('add', 'attach a container to a network and print the result')
    .option('--no-undo', 'do not undo a failed ADD, so that it can be examined')
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
  return attaching('del', 'detach a container from a network').action(
    reporting(terminal, async (network: string, netns: string, options: AttachOptions) => {
      const { cni, attachment } = known(netns, options);
      await cni.del(await networkFor(network, options, { cni, attachment }), attachment);
    }),
  );
}

function checkCommand(terminal: Terminal): Command {
  return attaching('check', 'check whether an attachment is still as it was created').action(
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
An attachment is valid while its network namespace exists. The plugins get the list of valid ones and may remove all
others, so the cache directory must be the one that every runtime on this network uses.
`;

function gcCommand(terminal: Terminal): Command {
  return withRunOptions(new Command('gc').summary('remove attachments of containers that no longer exist'))
    .description('Removes every attachment whose network namespace is gone.')
    .argument('<network>', 'the name in its configuration')
    .argument('[netns]', 'also remove the attachments of this namespace')
    .option('--all', 'remove every attachment')
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
  return withRunOptions(new Command('status').summary('check whether a network is ready for containers'))
    .description('Asks every plugin of the network whether it is ready.')
    .argument('<network>', 'the name in its configuration')
    .argument('[netns]', 'ignored; accepted so that command lines of cnitool work')
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
      'Shows the networks found, in the order in which runtimes read them, and files that are invalid.',
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
