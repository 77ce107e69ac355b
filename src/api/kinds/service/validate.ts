// Checks of a service. Pure.
// Guarantees: every port can be told from the others; addresses are addresses and do not change once given; whom source
// ranges let in has one reading only.
import {
  type Cause,
  checkName,
  checkOneOf,
  checkRequiredName,
  duplicate,
  forbiddenField,
  invalidValue,
  required,
} from '../../causes.js';
import { endpointIpFaults } from '../../endpointIp.js';
import type { V1ServicePort, V1ServiceSpec } from '../../gen/types.js';
import { validateLabels } from '../../meta.js';
import { dnsLabel, dnsSubdomain, ipAddress, networkCidr, portName, portNumber } from '../../names.js';
import { hasNodePorts } from './defaults.js';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const MAX_STICKY_SECONDS = 86_400;

export function validateService(spec: V1ServiceSpec, old: V1ServiceSpec | undefined): Cause[] {
  const { type, ports = [], sessionAffinity, externalName } = spec;
  const isHeadless = spec.clusterIP === 'None' || spec.clusterIPs?.[0] === 'None';
  const causes: Cause[] = [];
  if (ports.length === 0 && !isHeadless && type !== 'ExternalName') causes.push(required('spec.ports'));
  if (isHeadless && hasNodePorts(spec))
    causes.push(invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`));
  if (type === 'ExternalName') {
    if (!externalName) causes.push(required('spec.externalName'));
    else causes.push(...checkName('spec.externalName', externalName.replace(/\.$/, ''), dnsSubdomain));
  }
  return [
    ...causes,
    ...validatePorts(spec),
    ...validateLabels(spec.selector, 'spec.selector'),
    ...(sessionAffinity
      ? checkOneOf('spec.sessionAffinity', sessionAffinity, ['ClientIP', 'None'])
      : [required('spec.sessionAffinity')]),
    ...(type ? checkOneOf('spec.type', type, TYPES) : [required('spec.type')]),
    ...checkOneOf('spec.externalTrafficPolicy', spec.externalTrafficPolicy, ['Cluster', 'Local']),
    ...checkOneOf('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']),
    ...validateSticky(spec),
    ...validateAddresses(spec, old),
    ...validateSourceRanges(spec, old),
  ];
}

function validateSticky({ sessionAffinityConfig }: V1ServiceSpec): Cause[] {
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (seconds === undefined || (seconds > 0 && seconds <= MAX_STICKY_SECONDS)) return [];
  const field = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
  return [invalidValue(field, seconds, `must be greater than 0 and less than ${MAX_STICKY_SECONDS}`)];
}

function validatePorts(spec: V1ServiceSpec): Cause[] {
  const { ports = [] } = spec;
  const names = new Set<string>();
  const pairs = new Set<string>();
  const nodePorts = new Set<string>();
  return ports.flatMap((port, index) => {
    const at = `spec.ports[${index}]`;
    const causes = validatePort(port, at, { isNamed: ports.length > 1 });
    const { name, protocol, nodePort } = port;
    if (name && names.has(name)) causes.push(duplicate(`${at}.name`, name));
    names.add(name ?? '');
    const pair = `${protocol}/${port.port}`;
    if (pairs.has(pair)) causes.push(duplicate(at, { port: port.port, protocol }));
    pairs.add(pair);
    if (!nodePort) return causes;
    if (!hasNodePorts(spec))
      causes.push(forbiddenField(`${at}.nodePort`, `may not be used when \`type\` is '${spec.type}'`));
    const key = `${protocol}/${nodePort}`;
    if (nodePorts.has(key)) causes.push(duplicate(`${at}.nodePort`, nodePort));
    nodePorts.add(key);
    return causes;
  });
}

function validatePort(port: V1ServicePort, at: string, { isNamed }: { isNamed: boolean }): Cause[] {
  const { name, port: number = 0, protocol, targetPort } = port;
  const causes: Cause[] = isNamed || name ? checkRequiredName(`${at}.name`, name, dnsLabel) : [];
  causes.push(...portNumber(number).map((why) => invalidValue(`${at}.port`, number, why)));
  if (!protocol) causes.push(required(`${at}.protocol`));
  else causes.push(...checkOneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']));
  if (typeof targetPort === 'number')
    causes.push(...portNumber(targetPort).map((why) => invalidValue(`${at}.targetPort`, targetPort, why)));
  if (typeof targetPort === 'string') causes.push(...checkName(`${at}.targetPort`, targetPort, portName));
  return causes;
}

function validateAddresses(spec: V1ServiceSpec, old: V1ServiceSpec | undefined): Cause[] {
  const ips = spec.clusterIPs ?? (spec.clusterIP ? [spec.clusterIP] : []);
  const causes = ips.flatMap((ip, index) =>
    ip === 'None' ? [] : checkName(`spec.clusterIPs[${index}]`, ip, ipAddress),
  );
  if (spec.type === 'ExternalName' && ips.length > 0)
    causes.push(forbiddenField('spec.clusterIPs', "may not be set when `type` is 'ExternalName'"));
  if (spec.clusterIPs !== undefined && spec.clusterIP && spec.clusterIPs[0] !== spec.clusterIP)
    causes.push(invalidValue('spec.clusterIPs', spec.clusterIPs, 'first value must match `clusterIP`'));
  for (const [index, ip] of (spec.externalIPs ?? []).entries())
    causes.push(
      ...checkName(`spec.externalIPs[${index}]`, ip, ipAddress),
      ...checkName(`spec.externalIPs[${index}]`, ip, endpointIpFaults),
    );
  const isPinned = old?.clusterIP && old.type !== 'ExternalName' && spec.type !== 'ExternalName';
  if (isPinned && (spec.clusterIP ?? '') !== old.clusterIP)
    causes.push(invalidValue('spec.clusterIPs[0]', ips, 'may not change once set'));
  return causes;
}

/** Blanks around a range are part of the API; one that was stored before stays. */
function validateSourceRanges(spec: V1ServiceSpec, old: V1ServiceSpec | undefined): Cause[] {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  if (ranges.length === 0) return [];
  const at = 'spec.LoadBalancerSourceRanges';
  const stored = new Set((old?.loadBalancerSourceRanges ?? []).map((range) => range.trim()));
  return [
    ...(spec.type === 'LoadBalancer'
      ? []
      : [forbiddenField(at, "may only be used when `type` is 'LoadBalancer'")]),
    ...ranges.flatMap((range, index) =>
      stored.has(range.trim()) ? [] : checkName(`${at}[${index}]`, range.trim(), networkCidr),
    ),
  ];
}
