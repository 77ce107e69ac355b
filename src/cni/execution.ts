// What one plugin gets to see: its configuration on standard input and its environment. Pure.
// Guarantees: every plugin of a list gets the list's name and version, and only settings that it said it takes.
import { type Attachment, ifNameOf, type ValidAttachment } from './attachment.js';
import type { NetworkList, PluginConfig } from './config.js';
import type { JsonObject } from './json.js';
import { type CniResult, renderResult } from './result.js';

export type Command = 'ADD' | 'DEL' | 'CHECK' | 'GC' | 'STATUS' | 'VERSION';

interface Extras {
  readonly prevResult?: CniResult | undefined;
  readonly capabilityArgs?: JsonObject | undefined;
  readonly validAttachments?: readonly ValidAttachment[];
}

/**
 * The configuration of one plugin. Its `capabilities` stay in it: the specification would have them removed, but libcni
 * has always left them, and plugins that hand their configuration on rely on that.
 */
export function executionConfig(list: NetworkList, plugin: PluginConfig, extras: Extras = {}): JsonObject {
  const { prevResult, capabilityArgs, validAttachments } = extras;
  const settings = filterCapabilities(plugin, capabilityArgs ?? {});
  const valid = validAttachments?.map(({ containerId, ifName }) => ({
    containerID: containerId,
    ifname: ifName,
  }));
  return {
    ...plugin.conf,
    name: list.name,
    cniVersion: list.cniVersion,
    ...(prevResult !== undefined && { prevResult: renderResult(prevResult, list.cniVersion) }),
    ...(Object.keys(settings).length > 0 && { runtimeConfig: settings }),
    // The specification first printed the second name, and plugins were written to it.
    ...(valid !== undefined && { 'cni.dev/valid-attachments': valid, 'cni.dev/attachments': valid }),
  };
}

/** The settings for which the plugin declares the capability. */
function filterCapabilities({ capabilities }: PluginConfig, settings: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => capabilities.includes(name)));
}

interface EnvironmentOptions {
  readonly command: Command;
  readonly binDirs: readonly string[];
  /** Absent for GC, STATUS and VERSION, which are about no container. */
  readonly attachment?: Attachment;
}

/** The variables of the protocol. All are set, if need be to nothing, so that none of ours can leak in. */
export function environment({ command, binDirs, attachment }: EnvironmentOptions): Record<string, string> {
  return {
    CNI_COMMAND: command,
    CNI_CONTAINERID: attachment?.containerId ?? '',
    CNI_NETNS: attachment?.netns ?? '',
    CNI_IFNAME: attachment === undefined ? '' : ifNameOf(attachment),
    CNI_ARGS: (attachment?.args ?? []).map(([key, value]) => `${key}=${value}`).join(';'),
    CNI_PATH: binDirs.join(':'),
  };
}
