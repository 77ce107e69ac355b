// Which address families a service gets, from what it asks and what the cluster has. Pure.
// Guarantees: ipFamilies and ipFamilyPolicy are set for every service that is not external, and agree with its addresses.
import { MAX_CAUSES } from '../../api/causes.js';
import type { V1StatusCause } from '../../api/gen/types.js';
import { type Family, parseIp } from '../../api/ip.js';
import { HEADLESS, isHeadless, needsClusterIp, type ServiceSpecDraft } from './serviceFields.js';

/** `configured` is in the cluster's order: its first family is the default. Answers the faults; empty when all is set. */
export function settleFamilies(
  spec: ServiceSpecDraft,
  configured: readonly Family[],
): readonly V1StatusCause[] {
  if (!needsClusterIp(spec)) return [];
  const given = (spec.clusterIPs ?? []).filter((address) => address !== HEADLESS && address !== '');
  const asked = (spec.ipFamilies ?? []) as readonly string[];
  const wantsTwo = given.length === 2 || asked.length === 2;
  // A headless service without a selector has its endpoints written by hand, in whatever families they come.
  const isFree = isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0;
  const policy = spec.ipFamilyPolicy ?? (wantsTwo || isFree ? 'RequireDualStack' : 'SingleStack');
  const available: readonly Family[] = isFree ? both(configured[0] ?? 'IPv4') : configured;

  const families = [...new Set([...given.map((address) => parseIp(address)?.family ?? ''), ...asked])];
  const faults = familyFaults(asked, given, available);
  if (faults.length > 0) return faults;
  if (policy === 'RequireDualStack' && available.length < 2)
    return [fault('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services')];
  if (policy === 'SingleStack' && wantsTwo)
    return [
      fault(
        'spec.ipFamilyPolicy',
        policy,
        "must be 'RequireDualStack' or 'PreferDualStack' when multiple ipFamilies or clusterIPs are specified",
      ),
    ];

  for (const family of available)
    if (families.length < (policy === 'SingleStack' ? 1 : 2) && !families.includes(family))
      families.push(family);
  spec.ipFamilyPolicy = policy;
  spec.ipFamilies = families;
  return [];
}

function familyFaults(
  asked: readonly string[],
  given: readonly string[],
  available: readonly Family[],
): readonly V1StatusCause[] {
  const unknown = asked.slice(0, MAX_CAUSES).flatMap((family, at) => {
    if ((available as readonly string[]).includes(family)) return [];
    return [fault(`spec.ipFamilies[${at}]`, family, 'not configured on this cluster')];
  });
  const mismatched = given.slice(0, MAX_CAUSES).flatMap((address, at) => {
    const family = parseIp(address)?.family;
    if (family === undefined)
      return [
        fault(
          `spec.clusterIPs[${at}]`,
          address,
          'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
      ];
    if (!available.includes(family))
      return [fault(`spec.clusterIPs[${at}]`, address, `${family} is not configured on this cluster`)];
    const wanted = asked[at];
    if (wanted === undefined || wanted === family) return [];
    return [
      fault(
        `spec.clusterIPs[${at}]`,
        address,
        `expected an ${wanted} value as indicated by \`ipFamilies[${at}]\``,
      ),
    ];
  });
  return [...unknown, ...mismatched];
}

const both = (first: Family): readonly Family[] => [first, first === 'IPv4' ? 'IPv6' : 'IPv4'];

export function fault(field: string, value: unknown, why: string): V1StatusCause {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}
