// Flags that several Kubernetes components share: logging, feature gates, HTTPS.
// Guarantees: each of these flags is in one place, and means the same in every component.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { gatesFault } from '../../base/featureGates.js';
import { loggingFormatOption } from '../log.js';
import { type FixedFlags, type ToldFlags, withFixedFlags } from './fixedFlags.js';

/** Flags that may say nothing. */
export const none = (...names: readonly string[]): FixedFlags['flags'] =>
  Object.fromEntries(names.map((name) => [name, ['']]));

export const LOG: FixedFlags = {
  because: 'the log is one stream, written line by line, and only --v sets its verbosity',
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
        'Name=true,...; only the state that a gate has here is accepted',
      ).argParser(gates),
    );
  return withFixedFlags(command, [LOG]);
}

/** Of those that count: all but the kubelet and the proxy, which have some of them. */
export const METRICS: FixedFlags = {
  because: 'all metrics are shown, with all labels',
  flags: {
    'allow-metric-labels': [''],
    'allow-metric-labels-manifest': [''],
    'disabled-metrics': [''],
    'show-hidden-metrics-for-version': [''],
  },
};

/** Of those that can pretend to be older. */
export const VERSIONS: FixedFlags = {
  because: 'only the behaviour of Kubernetes v1.36 is supported',
  flags: {
    'emulated-version': ['', '1.36', 'kube=1.36'],
    'min-compatibility-version': ['', '1.35', 'kube=1.35'],
  },
};

export const REQUEST_HEADERS: ToldFlags = {
  because: 'clients are identified only by their own certificate or token, not by the headers of a proxy',
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
    because: 'requests are not rate-limited by the client; the server divides its time among its clients',
    flags: { 'kube-api-burst': ['0'], 'kube-api-qps': ['-1', '0'] },
  },
  { because: 'requests are JSON', flags: { 'kube-api-content-type': ['', 'application/json'] } },
];

export const PROFILING: FixedFlags = {
  because: 'profiles are not served over HTTP; start Node.js with --cpu-prof',
  flags: { 'contention-profiling': ['false'], profiling: ['false'] },
};

/** Their own HTTPS, over HTTP/1.1 and on a port of their own. */
const SERVING: FixedFlags = {
  because: 'only HTTP/1.1 is served, on an unshared port and with one certificate',
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
const DELEGATED: readonly FixedFlags[] = [
  {
    because: 'without --tls-cert-file the certificate is generated in memory at each start',
    flags: { 'cert-dir': [''] },
  },
  {
    because: 'the CA of client certificates is that of --client-ca-file; it is not looked up in the cluster',
    flags: {
      'authentication-skip-lookup': ['true'],
      'authentication-tolerate-lookup-failure': ['true', 'false'],
    },
  },
  {
    because: 'health checks need no authorization, everything else does; the cache times are fixed',
    flags: {
      'authentication-token-webhook-cache-ttl': ['2m'],
      'authorization-webhook-cache-authorized-ttl': ['5m'],
      'authorization-webhook-cache-unauthorized-ttl': ['30s'],
      'authorization-always-allow-paths': ['/healthz,/readyz,/livez', '/healthz'],
    },
  },
];

/** Of the controller manager and the scheduler. */
export const CONTROL_LOOP: readonly FixedFlags[] = [
  ...CLIENT,
  ...DELEGATED,
  METRICS,
  PROFILING,
  SERVING,
  VERSIONS,
];
