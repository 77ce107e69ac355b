// The plugins of a list one after the other: ADD and CHECK in order, DEL in reverse.
// Guarantees: each ADD gets the result of the one before; the first failure ends a chain.
import type { Attachment } from './attachment.js';
import type { NetworkList, PluginConfig } from './config.js';
import { CniError } from './error.js';
import { executionConfig } from './execution.js';
import { askPlugin, badOutput, callPlugin, type PluginCall, type PluginRunner } from './plugin.js';
import { type CniResult, parseResult, ResultError } from './result.js';
import { hasCheck } from './version.js';

/** One attachment of one network, and who runs the plugins. */
export interface Chain {
  readonly runner: PluginRunner;
  readonly list: NetworkList;
  readonly attachment: Attachment;
}

/** How far an ADD has come. */
export interface Progress {
  /** Plugins begun: the last of them may have failed half-way. */
  begun: PluginConfig[];
  result?: CniResult;
}

export async function addAll(chain: Chain, progress: Progress): Promise<CniResult> {
  for (const plugin of chain.list.plugins) {
    progress.begun.push(plugin);
    progress.result = await addOne(chain, plugin, progress.result);
  }
  if (progress.result === undefined) throw new CniError('CONFIG_INVALID', `${chain.list.source}: no plugins`);
  return progress.result;
}

async function addOne(
  chain: Chain,
  plugin: PluginConfig,
  prevResult: CniResult | undefined,
): Promise<CniResult> {
  const call = callOf('ADD', chain, plugin, prevResult);
  const answer = await askPlugin(chain.runner, call);
  try {
    return parseResult(answer, chain.list.cniVersion);
  } catch (cause) {
    if (!(cause instanceof ResultError)) throw cause;
    throw badOutput(call, `printed no result: ${cause.message}`, cause);
  }
}

export async function checkAll(chain: Chain, prevResult: CniResult): Promise<void> {
  for (const plugin of chain.list.plugins)
    await callPlugin(chain.runner, callOf('CHECK', chain, plugin, prevResult));
}

export async function delAll(chain: Chain, prevResult: CniResult | undefined): Promise<void> {
  for (const plugin of chain.list.plugins.toReversed()) await delOne(chain, plugin, prevResult);
}

/** Takes back what an ADD has done; goes on after a failure, and tells all of them. */
export async function undo(chain: Chain, { begun, result }: Progress): Promise<CniError[]> {
  const failures: CniError[] = [];
  for (const plugin of begun.toReversed()) {
    await delOne(chain, plugin, result).catch((failure: unknown) => {
      if (!(failure instanceof CniError)) throw failure;
      // A plugin that is missing was never run either.
      if (failure.code !== 'PLUGIN_NOT_FOUND') failures.push(failure);
    });
  }
  return failures;
}

async function delOne(chain: Chain, plugin: PluginConfig, prevResult: CniResult | undefined): Promise<void> {
  const given = hasCheck(chain.list.cniVersion) ? prevResult : undefined;
  await callPlugin(chain.runner, callOf('DEL', chain, plugin, given));
}

function callOf(
  command: PluginCall['command'],
  { list, attachment }: Chain,
  plugin: PluginConfig,
  prevResult: CniResult | undefined,
): PluginCall {
  const config = executionConfig(list, plugin, { prevResult, capabilityArgs: attachment.capabilityArgs });
  return { plugin: plugin.type, command, config, attachment };
}
