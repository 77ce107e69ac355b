// Networks for containers: runs the plugins of a list in the order and with the words of the CNI specification.
// Guarantees: calls for one container are serial, for different containers parallel; what was added is remembered on disk.
import { type Attachment, checkAttachment, type ValidAttachment } from './attachment.js';
import { type CachedAttachment, cachedResult, DEFAULT_CACHE_DIR, ResultCache } from './cache.js';
import { addAll, type Chain, checkAll, delAll, type Progress, undo } from './chain.js';
import type { NetworkList } from './config.js';
import { CniError } from './error.js';
import { executionConfig } from './execution.js';
import { collectGarbage } from './gc.js';
import { Locks } from './lock.js';
import { callPlugin, type PluginRunner } from './plugin.js';
import type { CniResult } from './result.js';
import { hasCheck, hasStatus } from './version.js';

export const DEFAULT_BIN_DIR = '/opt/cni/bin';
const DEFAULT_TIMEOUT_MS = 60_000;

export interface CniOptions {
  /** Where plugins are looked for, in order; /opt/cni/bin if left out. */
  readonly binDirs?: readonly string[];
  /** Above the `results` directory; /var/lib/cni if left out. */
  readonly cacheDir?: string;
  /** For each call of a plugin; after it the plugin and its children are killed. */
  readonly timeoutMs?: number;
  /** Run plugins in this network namespace: that of a node which is itself a namespace. */
  readonly hostNetNs?: string;
  /** After a failed ADD, DEL what was done of it. libcni leaves that to the runtime, so it is off unless asked for. */
  readonly undoFailedAdd?: boolean;
}

/** What STATUS found out; `known` is false where the list's version has no such command. */
type NetworkStatus = { readonly known: true } | { readonly known: false; readonly reason: string };

export class Cni {
  readonly cache: ResultCache;
  readonly #runner: PluginRunner;
  readonly #undoFailedAdd: boolean;
  readonly #locks = new Locks();

  constructor(options: CniOptions = {}) {
    const {
      binDirs = [DEFAULT_BIN_DIR],
      cacheDir = DEFAULT_CACHE_DIR,
      timeoutMs = DEFAULT_TIMEOUT_MS,
    } = options;
    this.cache = new ResultCache(cacheDir);
    this.#runner = { binDirs, timeoutMs, hostNetNs: options.hostNetNs };
    this.#undoFailedAdd = options.undoFailedAdd ?? false;
  }

  /** Runs the plugins in order, each with the result of the one before, and keeps the last result. */
  async add(list: NetworkList, attachment: Attachment): Promise<CniResult> {
    checkAttachment(attachment);
    return this.#serially(list, attachment, async () => {
      const chain = this.#chain(list, attachment);
      const progress: Progress = { begun: [] };
      // Of an attachment that is there already, a failed second ADD must not undo the first.
      const undoes = this.#undoFailedAdd && (await this.cache.get(list.name, attachment)) === undefined;
      try {
        const result = await addAll(chain, progress);
        await this.cache.put(list, attachment, result);
        return result;
      } catch (error) {
        if (!undoes || !(error instanceof CniError)) throw error;
        throw error.with(await undo(chain, progress));
      }
    });
  }

  /** Runs the plugins in reverse with what ADD had; what is not there any more is success. */
  async del(list: NetworkList, attachment: Attachment): Promise<void> {
    checkAttachment(attachment);
    await this.#serially(list, attachment, () => this.#delLocked(list, attachment));
  }

  /** Asks every plugin whether the attachment still is as ADD left it; a list may say that this is not to be asked. */
  async check(list: NetworkList, attachment: Attachment): Promise<void> {
    checkAttachment(attachment);
    if (!hasCheck(list.cniVersion))
      throw new CniError(
        'VERSION_UNSUPPORTED',
        `network ${list.name} is of version ${list.cniVersion}; CHECK came with 0.4.0`,
      );
    if (list.disableCheck) return;
    await this.#serially(list, attachment, async () => {
      const entry = await this.cache.get(list.name, attachment);
      const prevResult = cachedResult(entry, list.cniVersion);
      if (prevResult === undefined) {
        const message = `container ${attachment.containerId} is not on network ${list.name}: no result in ${this.cache.file(list.name, attachment)}`;
        throw new CniError('NOT_ATTACHED', message, { command: 'CHECK' });
      }
      await checkAll(this.#chain(list, asAdded(attachment, entry)), prevResult);
    });
  }

  /**
   * Removes every attachment of the network that is not valid any more, and lets plugins of 1.1.0 clean up what is
   * theirs. No ADD or DEL of the network runs meanwhile; a function is asked for the valid ones only then.
   */
  async gc(
    list: NetworkList,
    valid: readonly ValidAttachment[] | (() => Promise<readonly ValidAttachment[]>),
  ): Promise<CachedAttachment[]> {
    if (list.disableGC) return [];
    return this.#locks.alone(`network ${list.name}`, async () =>
      collectGarbage({
        list,
        valid: typeof valid === 'function' ? await valid() : valid,
        cached: await this.cache.list(),
        del: (attachment) =>
          this.#locks.alone(`container ${attachment.containerId}`, () => this.#delLocked(list, attachment)),
        call: (call) => callPlugin(this.#runner, call),
      }),
    );
  }

  /** Resolves when every plugin is ready to ADD; rejects with the plugin's own code (50, 51) when one is not. */
  async status(list: NetworkList): Promise<NetworkStatus> {
    if (!hasStatus(list.cniVersion))
      return {
        known: false,
        reason: `network ${list.name} is of version ${list.cniVersion}; STATUS came with 1.1.0`,
      };
    for (const plugin of list.plugins)
      await callPlugin(this.#runner, {
        plugin: plugin.type,
        command: 'STATUS',
        config: executionConfig(list, plugin),
      });
    return { known: true };
  }

  #serially<T>(list: NetworkList, { containerId }: Attachment, work: () => Promise<T>): Promise<T> {
    // Always in this order, so that two never wait for each other.
    return this.#locks.shared(`network ${list.name}`, () =>
      this.#locks.alone(`container ${containerId}`, work),
    );
  }

  #chain(list: NetworkList, attachment: Attachment): Chain {
    return { runner: this.#runner, list, attachment };
  }

  async #delLocked(list: NetworkList, attachment: Attachment): Promise<void> {
    const entry = await this.cache.get(list.name, attachment);
    await delAll(this.#chain(list, asAdded(attachment, entry)), cachedResult(entry, list.cniVersion));
    await this.cache.remove(list.name, attachment);
  }
}

/** The caller's attachment, filled up with what the cache knows: the settings of ADD hold until DEL. */
function asAdded(attachment: Attachment, entry: CachedAttachment | undefined): Attachment {
  if (entry === undefined) return attachment;
  const netns = attachment.netns ?? entry.netns;
  const args = attachment.args ?? entry.args;
  const capabilityArgs = attachment.capabilityArgs ?? entry.capabilityArgs;
  return {
    ...attachment,
    ...(netns && { netns }),
    ...(args && { args }),
    ...(capabilityArgs && { capabilityArgs }),
  };
}
