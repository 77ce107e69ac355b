// `trellis token`: the tokens by which machines join a cluster, with the words of `kubeadm token`.
import { Command, InvalidArgumentError, Option } from 'commander';
import { ageOf } from '../../api/duration.js';
import { goDurationMs } from '../../base/goDuration.js';
import type { Client } from '../../client/client.js';
import { ClientError } from '../../client/error.js';
import { ClusterError } from '../../cluster/error.js';
import type { TokenView } from '../../cluster/join/token.js';
import type { Terminal } from '../terminal.js';
import { kubeconfigOf } from './kubectl.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';

const DAY = '24h0m0s';

interface CreateFlags extends DataDirOption {
  readonly ttl: number;
  readonly description?: string;
  readonly printJoinCommand?: boolean;
}

const EXAMPLES = `
Examples:
  trellis token create --print-join-command          what to type on a machine that is to be a node
  trellis token create --ttl 1h --description "rack 7"
  trellis token delete abcdef
`;

export function tokenCommand(terminal: Terminal): Command {
  return new Command('token')
    .summary('create, list and delete the tokens with which machines join')
    .description('The tokens with which machines join the cluster as nodes.')
    .addHelpText('after', EXAMPLES)
    .addCommand(createCommand(terminal))
    .addCommand(listCommand(terminal))
    .addCommand(deleteCommand(terminal));
}

function createCommand(terminal: Terminal): Command {
  return withDataDir(new Command('create'))
    .summary('create a token')
    .description('Creates a token and prints it. Anybody who has it can join a machine to the cluster.')
    .argument('[token]', 'token of the form abcdef.0123456789abcdef (default: random)')
    .addOption(
      new Option('--ttl <duration>', 'how long it is valid; 0 means forever')
        .argParser(lifetime)
        .default(lifetime(DAY), DAY),
    )
    .option('--description <text>', 'description of its purpose')
    .option('--print-join-command', 'print the full command to run on the other machine')
    .action((given: string | undefined, flags: CreateFlags) =>
      reporting(terminal, () =>
        asAdmin(flags, async (client) => {
          const { createToken, joinCommand } = await import('../../cluster/join/tokens.js');
          const { parseToken, tokenText } = await import('../../cluster/join/token.js');
          const { ttl: ttlMs, description } = flags;
          const wanted = given === undefined ? undefined : parseToken(given);
          const token = await createToken(client, { token: wanted, ttlMs, description });
          const command =
            flags.printJoinCommand === true ? await joinCommand(client, token) : tokenText(token);
          terminal.write(`${command}\n`);
        }),
      ),
    );
}

function listCommand(terminal: Terminal): Command {
  return withDataDir(new Command('list'))
    .summary('list the tokens')
    .description('Lists the tokens of the cluster.')
    .action((flags: DataDirOption) =>
      reporting(terminal, () =>
        asAdmin(flags, async (client) => {
          const { listTokens } = await import('../../cluster/join/tokens.js');
          terminal.write(tokenTable(await listTokens(client), Date.now()));
        }),
      ),
    );
}

function deleteCommand(terminal: Terminal): Command {
  return withDataDir(new Command('delete'))
    .summary('delete tokens')
    .description('Deletes tokens. Nodes that have joined with them stay.')
    .argument('<token...>', 'the whole token, or its first six letters')
    .action((tokens: string[], flags: DataDirOption) =>
      reporting(terminal, () =>
        asAdmin(flags, async (client) => {
          const { deleteToken } = await import('../../cluster/join/tokens.js');
          for (const token of tokens)
            terminal.write(`bootstrap token "${await deleteToken(client, token)}" deleted\n`);
        }),
      ),
    );
}

/** A token of a day and the command that uses it, for a control plane that has just come up. */
export function makeJoinCommand(flags: DataDirOption, trellis: string): Promise<string> {
  return asAdmin(flags, async (client) => {
    const { createToken, joinCommand } = await import('../../cluster/join/tokens.js');
    return joinCommand(client, await createToken(client, { ttlMs: lifetime(DAY) }), trellis);
  });
}

export function tokenTable(tokens: readonly TokenView[], now: number): string {
  const rows = tokens.map(({ token, expires, usages, description, groups }) => [
    token,
    expires === '' ? '<forever>' : remaining(expires, now),
    expires === '' ? '<never>' : expires,
    usages || '<none>',
    description || '<none>',
    groups || '<none>',
  ]);
  const all = [['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'], ...rows];
  const widths = all[0]?.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0))) ?? [];
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** How long until then, as kubectl tells how long since. */
const remaining = (expires: string, now: number): string =>
  Date.parse(expires) <= now ? '<expired>' : ageOf(new Date(now).toISOString(), Date.parse(expires));

function lifetime(text: string): number {
  const ms = goDurationMs(text);
  if (ms === undefined)
    throw new InvalidArgumentError('expected a duration such as 24h, 1h30m, or 0 for forever');
  return ms;
}

async function asAdmin<T>(flags: DataDirOption, work: (client: Client) => Promise<T>): Promise<T> {
  const { transportOf } = await import('../../client/kubeconfig.js');
  const { openClient } = await import('../../client/typedClient.js');
  const client = openClient(await transportOf(kubeconfigOf(existingLayout(flags))));
  try {
    return await work(client);
  } catch (error) {
    if (!ClientError.is(error, 'UNREACHABLE')) throw error;
    const text = `${error.message}; start the cluster with "trellis up" or "trellis server"`;
    throw new ClusterError('NOT_RUNNING', text, { cause: error });
  } finally {
    client.close();
  }
}
