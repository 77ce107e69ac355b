// How TLS is spoken, by Kubernetes' names for versions and ciphers.
// Guarantees: an unknown name is refused with those that are known; without a word it is TLS 1.2 and 1.3 as Node.js has them.
import { InvalidArgumentError, Option } from 'commander';
import { CIPHER_SUITES, cipherList } from '../../kubelet/server/cipherSuites.js';

export interface TlsFlags {
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsMinVersion?: string;
}

/** What node:tls takes. */
interface TlsManner {
  readonly ciphers?: string;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

function suites(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(',').filter((name) => name !== '');
  const unknown = given.find((name) => !CIPHER_SUITES.includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`${unknown} is none of ${CIPHER_SUITES.join(', ')}.`);
  return [...before, ...given];
}

export const tlsOptions = (): readonly Option[] => [
  new Option(
    '--tls-cipher-suites <list>',
    "ciphers of TLS 1.2, by Go's names (default: those of Node.js)",
  ).argParser(suites),
  new Option('--tls-min-version <version>', 'oldest version of TLS (default: VersionTLS12)').choices([
    'VersionTLS12',
    'VersionTLS13',
  ]),
];

export function tlsManner({ tlsCipherSuites = [], tlsMinVersion }: TlsFlags): TlsManner {
  const ciphers = cipherList(tlsCipherSuites);
  return {
    ...(ciphers === undefined ? {} : { ciphers }),
    ...(tlsMinVersion === 'VersionTLS13' ? { minVersion: 'TLSv1.3' } : {}),
  };
}
