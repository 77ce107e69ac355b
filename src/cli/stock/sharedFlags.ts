// What several of Kubernetes' components are told in the same words: their log, their gates, their own HTTPS.
// Guarantees: each of these flags is in one place, and means the same in every component.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { gatesFault } from '../../base/featureGates.js';
import { loggingFormatOption } from '../log.js';
import { type FixedFlags, type ToldFlags, withFixedFlags } from './fixedFlags.js';

/** Flags that may say nothing. */
export const none = (...names: readonly string[]): FixedFlags['flags'] =>
  Object.fromEntries(names.map((name) => [name, ['']]));

export const LOG: FixedFlags = {
  because: 'the log is one stream, written line by line, and its detail is that of --v',
  flags: {
    'log-flush-frequency': ['5s', '0s'],
    'log-json-info-buffer-size': ['0'],
    'log-json-split-stream': ['false'],
    'log-text-info-buffer-size': ['0'],
    'log-text-split-stream': ['false'],
    vmodule: [''],
  },
};

/** `-v=4` comes as `=4`. */
function verbosity(text: string): number {
  const level = text.replace(/^=/, '');
  if (!/^\d{1,9}$/.test(level)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(level);
}

/** Which gates there are, and how each stands, is told by src/base/featureGates.ts. */
function gates(text: string, before = ''): string {
  const fault = gatesFault(text);
  if (fault !== undefined) throw new InvalidArgumentError(`${fault}.`);
  return before === '' ? text : `${before},${text}`;
}

/** Commas part the values; given again, they add up, as Go's flags do. */
export function listOption(name: string, description: string): Option {
  return new Option(`--${name} <list>`, description).argParser((text: string, before?: string) =>
    before === undefined ? text : `${before},${text}`,
  );
}

const verbosityOption = (): Option =>
  new Option('-v, --v <level>', 'log verbosity; 4 and above logs everything').argParser(verbosity);

/** What every component has. */
export function withComponentFlags(command: Command): Command {
  command
    .addOption(verbosityOption())
    .addOption(loggingFormatOption())
    .addOption(
      new Option(
        '--feature-gates <list>',
        'Name=true,... as each gate stands here; another state is refused, by the name of the gate',
      ).argParser(gates),
    );
  return withFixedFlags(command, [LOG]);
}

/** Of those that count: all but the kubelet and the proxy, which have some of them. */
export const METRICS: FixedFlags = {
  because: 'every metric is shown with all its labels',
  flags: {
    'allow-metric-labels': [''],
    'allow-metric-labels-manifest': [''],
    'disabled-metrics': [''],
    'show-hidden-metrics-for-version': [''],
  },
};

/** Of those that can pretend to be older. */
export const VERSIONS: FixedFlags = {
  because: 'it behaves as Kubernetes v1.36 and as no older one',
  flags: {
    'emulated-version': ['', '1.36', 'kube=1.36'],
    'min-compatibility-version': ['', '1.35', 'kube=1.35'],
  },
};

export const REQUEST_HEADERS: ToldFlags = {
  because: 'callers are known by their own certificate or token, never by what a proxy in front says of them',
  flags: [
    'allowed-names',
    'client-ca-file',
    'extra-headers-prefix',
    'group-headers',
    'uid-headers',
    'username-headers',
  ].map((name) => `requestheader-${name}`),
};

export const CLIENT: readonly FixedFlags[] = [
  {
    because: 'requests are not held back; the server shares its time among its callers',
    flags: { 'kube-api-burst': ['0'], 'kube-api-qps': ['-1', '0'] },
  },
  { because: 'requests are JSON', flags: { 'kube-api-content-type': ['', 'application/json'] } },
];

export const PROFILING: FixedFlags = {
  because: 'there is no profile to fetch over HTTP; start Node.js with --cpu-prof',
  flags: { 'contention-profiling': ['false'], profiling: ['false'] },
};

/** Their own HTTPS, over HTTP/1.1 and on a port of their own. */
export const SERVING: FixedFlags = {
  because: 'HTTPS is HTTP/1.1 on a port of its own, with one certificate',
  flags: {
    'disable-http2-serving': ['true'],
    'http2-max-streams-per-connection': ['0'],
    'permit-address-sharing': ['false'],
    'permit-port-sharing': ['false'],
    'tls-curve-preferences': [''],
    'tls-sni-cert-key': [''],
  },
};

/** What scheduler and controller manager ask of the apiserver about their callers. */
export const DELEGATED: readonly FixedFlags[] = [
  {
    because: 'without --tls-cert-file the certificate is made in memory, for one run',
    flags: { 'cert-dir': [''] },
  },
  {
    because: 'the CA of client certificates is that of --client-ca-file; none is looked up in the cluster',
    flags: {
      'authentication-skip-lookup': ['true'],
      'authentication-tolerate-lookup-failure': ['true', 'false'],
    },
  },
  {
    because:
      'health is told to everybody, all else to those who may, and what the apiserver says of them is kept a while',
    flags: {
      'authentication-token-webhook-cache-ttl': ['2m'],
      'authorization-webhook-cache-authorized-ttl': ['5m'],
      'authorization-webhook-cache-unauthorized-ttl': ['30s'],
      'authorization-always-allow-paths': ['/healthz,/readyz,/livez', '/healthz'],
    },
  },
];
