// Clean-up of a network: DEL for attachments that are not valid any more, then GC for plugins that have it.
// Guarantees: one failure does not keep the rest from being cleaned up; all of them are told together.
import { ifNameOf, type ValidAttachment } from './attachment.js';
import type { CachedAttachment } from './cache.js';
import type { NetworkList } from './config.js';
import { CniError } from './error.js';
import { executionConfig } from './execution.js';
import type { PluginCall } from './plugin.js';
import { hasGc } from './version.js';

interface Garbage {
  readonly list: NetworkList;
  readonly valid: readonly ValidAttachment[];
  readonly cached: readonly CachedAttachment[];
  del(attachment: CachedAttachment): Promise<void>;
  call(call: PluginCall): Promise<unknown>;
}

/** The attachments of the network that are in the cache but not among the valid ones. Pure. */
function leftovers({ list, valid, cached }: Pick<Garbage, 'list' | 'valid' | 'cached'>): CachedAttachment[] {
  const kept = new Set(valid.map(({ containerId, ifName }) => `${containerId} ${ifName}`));
  return cached.filter(
    (attachment) =>
      attachment.network === list.name && !kept.has(`${attachment.containerId} ${ifNameOf(attachment)}`),
  );
}

/** What was removed. */
export async function collectGarbage(garbage: Garbage): Promise<CachedAttachment[]> {
  const { list, valid } = garbage;
  const removed: CachedAttachment[] = [];
  const errors: CniError[] = [];
  const attempt = async (work: Promise<unknown>): Promise<boolean> => {
    try {
      await work;
      return true;
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      errors.push(error);
      return false;
    }
  };
  for (const attachment of leftovers(garbage))
    if (await attempt(garbage.del(attachment))) removed.push(attachment);
  if (hasGc(list.cniVersion)) {
    for (const plugin of list.plugins) {
      const config = executionConfig(list, plugin, { validAttachments: valid });
      await attempt(garbage.call({ plugin: plugin.type, command: 'GC', config }));
    }
  }
  if (errors.length > 0) {
    const words = errors.map(({ message }) => `\n  ${message}`).join('');
    throw new CniError('GC_FAILED', `network ${list.name} could not be cleaned up wholly:${words}`, {
      errors,
    });
  }
  return removed;
}
