// The fields of a file of KubeProxyConfiguration v1alpha1: those that are read, and those with only one supported behaviour. Pure.
// Guarantees: a value that asks for anything else than what this proxy does is refused, so nothing in a file is ignored. What
// Kubernetes reads as "the default" (nothing, a duration of zero) is taken where the default is what this proxy does.
import { sameJson } from '../api/ownKeys.js';
import { gateMapFault } from '../base/featureGates.js';
import { FIXED_LOGGING } from '../base/fixedLogging.js';
import { type KnownFields, knownFields } from '../base/knownFields.js';
import { ProxyError } from './error.js';

/** Each gate is a field of its own: see src/base/featureGates.ts. */
const GATES = 'featureGates';
const refuse = (path: string, why: string) => new ProxyError('BAD_CONFIG', `${path} ${why}`);

const NONE = [''] as const;
const OFF = [false] as const;

/** By their path in the file, with the values that say what is done anyway. */
const FIXED: Readonly<Record<string, readonly unknown[]>> = {
  enableProfiling: OFF,
  showHiddenMetricsForVersion: NONE,
  portRange: NONE,
  windowsRunAsService: OFF,
  // Everything is watched; nothing is asked for again by the clock.
  configSyncPeriod: ['', '0s', '15m', '15m0s'],
  'clientConnection.acceptContentTypes': NONE,
  'clientConnection.contentType': ['', 'application/json'],
  // Requests are not held back here.
  'clientConnection.qps': [-1, 0],
  'clientConnection.burst': [0, 10],
  'winkernel.networkName': NONE,
  'winkernel.sourceVip': NONE,
  'winkernel.enableDSR': OFF,
  'winkernel.rootHnsEndpointName': NONE,
  'winkernel.forwardHealthCheckVip': OFF,
  ...FIXED_LOGGING,
};

const within = (field: string, names: string): string[] => names.split(' ').map((name) => `${field}.${name}`);

/** What readConfigFile makes something of. */
const READ: ReadonlySet<string> = new Set([
  ...'apiVersion kind hostnameOverride bindAddress healthzBindAddress metricsBindAddress mode'.split(' '),
  ...'bindAddressHardFail detectLocalMode clusterCIDR nodePortAddresses oomScoreAdj'.split(' '),
  GATES,
  'clientConnection.kubeconfig',
  ...within('iptables', 'masqueradeBit masqueradeAll localhostNodePorts syncPeriod minSyncPeriod'),
  ...within('ipvs', 'syncPeriod minSyncPeriod scheduler excludeCIDRs strictARP'),
  ...within('ipvs', 'tcpTimeout tcpFinTimeout udpTimeout'),
  ...within('nftables', 'masqueradeBit masqueradeAll syncPeriod minSyncPeriod'),
  ...within('detectLocal', 'bridgeInterface interfaceNamePrefix'),
  ...within('conntrack', 'maxPerCore min tcpEstablishedTimeout tcpCloseWaitTimeout tcpBeLiberal'),
  ...within('conntrack', 'udpTimeout udpStreamTimeout'),
  ...within('logging', 'format verbosity'),
]);

const KNOWN: KnownFields = {
  read: READ,
  fixed: FIXED,
  isSame: sameJson,
  refuse,
  unknown: (path, meant) => refuse(path, `is no field of this configuration${meant}`),
};

/** Throws BAD_CONFIG that names the field and, where there is one, what would be taken. */
export function requireSupported(document: object): void {
  for (const [path, given] of knownFields(document, KNOWN)) {
    const fault = path === GATES ? gateMapFault(given) : undefined;
    if (fault !== undefined) throw refuse(`${path}:`, fault);
  }
}
