// One attachment: a container's interface on a network, and what the runtime tells the plugins about it. Pure.
// Guarantees: names that a plugin or the result cache could not take are refused before any plugin runs.
import { NAME } from './config.js';
import { CniError } from './error.js';
import type { JsonObject } from './json.js';

export interface Attachment {
  readonly containerId: string;
  /** The path of the container's network namespace; empty or absent once it is gone. */
  readonly netns?: string;
  /** The interface inside the container; eth0 if left out. */
  readonly ifName?: string;
  /** CNI_ARGS: pairs for the plugins, in order. */
  readonly args?: readonly (readonly [string, string])[];
  /** The runtime's settings by capability: portMappings, ips, mac, bandwidth, aliases, ipRanges, dns, deviceID ... */
  readonly capabilityArgs?: JsonObject;
}

export interface ValidAttachment {
  readonly containerId: string;
  readonly ifName: string;
}

export const DEFAULT_IF_NAME = 'eth0';

export const ifNameOf = ({ ifName }: Attachment): string => ifName ?? DEFAULT_IF_NAME;

const MAX_IF_NAME = 15;

export function checkAttachment(attachment: Attachment): void {
  const { containerId, args = [] } = attachment;
  if (!NAME.test(containerId))
    throw invalid(
      `the container ID ${JSON.stringify(containerId)} must begin with a letter or digit and go on with those, "_", "." or "-"`,
    );
  const ifName = ifNameOf(attachment);
  if (ifName === '' || ifName === '.' || ifName === '..' || /[/:\s]/.test(ifName))
    throw invalid(`${JSON.stringify(ifName)} cannot be the name of an interface`);
  if (new TextEncoder().encode(ifName).length > MAX_IF_NAME)
    throw invalid(`the interface name ${ifName} is longer than ${MAX_IF_NAME} bytes`);
  for (const [key, value] of args)
    if (key === '' || /[;=]/.test(key) || value.includes(';'))
      throw invalid(
        `the CNI argument ${key}=${value} cannot be passed on: keys hold no "=" and neither part holds ";"`,
      );
}

/** `K=V;K2=V2` as pairs. */
export function parseArgs(text: string): [string, string][] {
  return text
    .split(';')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      if (at <= 0 || at === pair.length - 1)
        throw invalid(`${JSON.stringify(pair)} is not of the form KEY=VALUE`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    });
}

const invalid = (message: string): CniError => new CniError('ARGUMENT_INVALID', message);
