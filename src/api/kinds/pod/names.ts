// Checks of what a pod is called and what it calls others: DNS settings, host aliases, gates. Pure.
// Guarantees: every name and address can be written into the files that a kubelet makes of them.
import { byteLength } from '../../byteLength.js';
import {
  type Cause,
  checkName,
  checkOneOf,
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  tooLong,
} from '../../causes.js';
import type { V1PodDNSConfig, V1PodSpec } from '../../gen/types.js';
import { dnsLabel, dnsSubdomain, ipAddress, qualifiedName } from '../../names.js';

/** What the C library reads, and what a search line may hold. */
const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARS = 2048;

export function validateDns({ dnsPolicy, dnsConfig }: V1PodSpec, at: string): Cause[] {
  const servers = dnsConfig?.nameservers ?? [];
  if (dnsPolicy === 'None' && dnsConfig === undefined)
    return [required(`${at}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None')];
  const causes: Cause[] =
    dnsPolicy === 'None' && servers.length === 0
      ? [
          required(
            `${at}.dnsConfig.nameservers`,
            'must provide at least one DNS nameserver when `dnsPolicy` is None',
          ),
        ]
      : [];
  return dnsConfig === undefined ? causes : [...causes, ...validateDnsConfig(dnsConfig, `${at}.dnsConfig`)];
}

function validateDnsConfig(
  { nameservers = [], searches = [], options = [] }: V1PodDNSConfig,
  at: string,
): Cause[] {
  const causes: Cause[] = [];
  if (nameservers.length > MAX_NAMESERVERS)
    causes.push(
      invalidValue(
        `${at}.nameservers`,
        nameservers,
        `must not have more than ${MAX_NAMESERVERS} nameservers`,
      ),
    );
  for (const [index, server] of nameservers.entries())
    causes.push(...checkName(`${at}.nameservers[${index}]`, server, ipAddress));
  if (searches.length > MAX_SEARCHES)
    causes.push(
      invalidValue(`${at}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`),
    );
  if (searches.join(' ').length > MAX_SEARCH_CHARS)
    causes.push(
      invalidValue(
        `${at}.searches`,
        searches,
        `must not have more than ${MAX_SEARCH_CHARS} characters (including spaces) in the search list`,
      ),
    );
  // The root itself, names that end with it, and underscores where dashes may be or at a label's start.
  for (const [index, search] of searches.entries())
    if (search !== '.')
      causes.push(
        ...checkName(
          `${at}.searches[${index}]`,
          search
            .replace(/\.$/, '')
            .replace(/(^|\.)_/g, '$1')
            .replaceAll('_', '-'),
          dnsSubdomain,
        ),
      );
  for (const [index, { name }] of options.entries())
    if (!name) causes.push(required(`${at}.options[${index}]`, 'must not be empty'));
  return causes;
}

export function validateNames(spec: V1PodSpec, at: string): Cause[] {
  const { nodeName, serviceAccountName, hostname, subdomain, priorityClassName, runtimeClassName } = spec;
  const checks = [
    { field: 'nodeName', value: nodeName, rule: dnsSubdomain },
    { field: 'serviceAccountName', value: serviceAccountName, rule: dnsSubdomain },
    { field: 'hostname', value: hostname, rule: dnsLabel },
    { field: 'subdomain', value: subdomain, rule: dnsLabel },
    { field: 'priorityClassName', value: priorityClassName, rule: dnsSubdomain },
    { field: 'runtimeClassName', value: runtimeClassName, rule: dnsSubdomain },
  ];
  return [
    ...checks.flatMap(({ field, value, rule }) => (value ? checkName(`${at}.${field}`, value, rule) : [])),
    ...validateHostnameOverride(spec, at),
  ];
}

/** As long as the kernel lets a hostname be. */
const MAX_HOSTNAME = 64;

/** It is the whole name that the pod sees itself by: nothing else may have a say in it. */
function validateHostnameOverride(spec: V1PodSpec, at: string): Cause[] {
  const { hostnameOverride, setHostnameAsFQDN, hostNetwork } = spec;
  if (hostnameOverride === undefined) return [];
  const here = `${at}.hostnameOverride`;
  const others = Object.entries({ setHostnameAsFQDN, hostNetwork }).filter(([, value]) => value === true);
  return [
    ...others.map(([name]) => forbiddenField(here, `may not be specified when ${name} is true`)),
    ...(byteLength(hostnameOverride) > MAX_HOSTNAME ? [tooLong(here, MAX_HOSTNAME)] : []),
    ...checkName(here, hostnameOverride, dnsSubdomain),
  ];
}

export function validateAliases({ hostAliases = [] }: V1PodSpec, at: string): Cause[] {
  return hostAliases.flatMap(({ ip, hostnames = [] }, index) => [
    ...checkName(`${at}.hostAliases[${index}].ip`, ip ?? '', ipAddress),
    ...hostnames.flatMap((name) => checkName(`${at}.hostAliases[${index}].hostnames`, name, dnsSubdomain)),
  ]);
}

/** What a pod waits for, before it is scheduled and before it is ready. */
export function validateGates(
  { readinessGates = [], schedulingGates = [], os, preemptionPolicy }: V1PodSpec,
  at: string,
) {
  const seen = new Set<string>();
  const causes = schedulingGates.flatMap(({ name }, index) => {
    const here = `${at}.schedulingGates[${index}]`;
    const faults = checkName(here, name ?? '', qualifiedName);
    if (seen.has(name)) faults.push(duplicate(here, name));
    seen.add(name);
    return faults;
  });
  for (const [index, { conditionType }] of readinessGates.entries())
    causes.push(
      ...checkName(`${at}.readinessGates[${index}].conditionType`, conditionType ?? '', qualifiedName),
    );
  if (os !== undefined)
    causes.push(
      ...(os.name ? checkOneOf(`${at}.os.name`, os.name, ['linux', 'windows']) : [required(`${at}.os.name`)]),
    );
  return [
    ...causes,
    ...checkOneOf(`${at}.preemptionPolicy`, preemptionPolicy, ['Never', 'PreemptLowerPriority']),
  ];
}

/** A pod that waits at a gate cannot have a node already. Of new pods only. */
export function validateGatedNode({ nodeName, schedulingGates = [] }: V1PodSpec): Cause[] {
  return nodeName && schedulingGates.length > 0
    ? [forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
    : [];
}
