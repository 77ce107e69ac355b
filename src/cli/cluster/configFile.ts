// `--config` of `trellis up`, `server` and `agent`: each field of ClusterConfiguration is the flag of that name.
// Guarantees: a flag wins over the file; a field that is no flag, or has a value that the flag would refuse, is named.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { didYouMean } from '../../base/nearestName.js';
import type { ClusterFile } from '../../cluster/configuration.js';
import { ClusterError } from '../../cluster/error.js';
import { API_VERSION, KIND } from '../../cluster/settings.js';

/** How it is run this time is no property of a cluster. */
const NOT_FIELDS = [
  'config',
  'dataDir',
  'detach',
  'timeout',
  'supervise',
  'supervised',
  'prepare',
  'keepPods',
];

export const CONFIG_EXPLANATION = `
One file for everything, with --config: the flags above by their names in camel case, and, as further documents, what
Kubernetes' own components are configured with (KubeletConfiguration, KubeProxyConfiguration, KubeSchedulerConfiguration):

  apiVersion: ${API_VERSION}
  kind: ${KIND}
  clusterCidr: 10.20.0.0/16
  proxyMode: nftables
  ---
  apiVersion: kubelet.config.k8s.io/v1beta1
  kind: KubeletConfiguration
  maxPods: 250
`;

export function withConfig(command: Command): Command {
  return command.option(
    '--config <file>',
    'configuration file for these flags and the components; flags override it',
  );
}

/** The flags with what --config says, if it is given. */
export async function readConfigFlag<Flags extends { readonly config?: string }>(
  command: Command,
): Promise<Flags & { readonly configuration: ClusterFile | undefined }> {
  const { config } = command.opts<Flags>();
  const configuration = config === undefined ? undefined : await applyConfigFile(command, config);
  return { ...command.opts<Flags>(), configuration };
}

/** Puts what the file says where the flags are, and answers what it says of the components. */
export async function applyConfigFile(command: Command, file: string): Promise<ClusterFile> {
  // The components' readers are for who needs them: every other command starts without.
  const { readClusterFile } = await import('../../cluster/configuration.js');
  const read = readClusterFile(file, contentsOf(file));
  const options = command.options.filter((option) => !NOT_FIELDS.includes(option.attributeName()));
  for (const [field, value] of Object.entries(read.cluster)) {
    const option = options.find((one) => one.attributeName() === field);
    if (option === undefined) {
      const known = options.map((one) => one.attributeName());
      throw refusal(file, field, `unknown field; known are ${known.join(', ')}${didYouMean(field, known)}`);
    }
    const given = command.getOptionValueSource(field);
    if (value === null || given === 'cli' || given === 'env') continue;
    command.setOptionValueWithSource(field, parsedValue(option, value, file), 'config');
  }
  return read;
}

function parsedValue(option: Option, value: unknown, file: string): unknown {
  const field = option.attributeName();
  if (option.isBoolean()) {
    if (typeof value === 'boolean') return value;
    throw refusal(file, field, `must be true or false, not ${JSON.stringify(value)}`);
  }
  const parts = Array.isArray(value) ? value : [value];
  if (!parts.every((part) => typeof part === 'string' || typeof part === 'number'))
    throw refusal(file, field, `must be a string or a number, not ${JSON.stringify(value)}`);
  if (option.variadic) return parts.map(String);
  const text = parts.join(',');
  try {
    return option.parseArg === undefined ? text : option.parseArg(text, undefined);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw refusal(file, field, error.message);
  }
}

const refusal = (file: string, field: string, why: string) =>
  new ClusterError('BAD_OPTION', `${file}: ${KIND}: ${field}: ${why}`);

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ClusterError('BAD_OPTION', `--config: ${(cause as Error).message}`, { cause });
  }
}
