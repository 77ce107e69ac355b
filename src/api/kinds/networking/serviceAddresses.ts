// IPAddress and ServiceCIDR: the addresses of Services as objects, and the networks they come from. Pure.
// Guarantees: an address is named by its one spelling; neither kind changes what it stands for.
import {
  type Cause,
  checkImmutable,
  checkName,
  checkRequiredName,
  invalidValue,
  required,
} from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type { V1IPAddress, V1ParentReference, V1ServiceCIDR } from '../../gen/types.js';
import { formatCidr, parseCidr } from '../../ip.js';
import { type KindDefinition, STATUS_METADATA } from '../../kind.js';
import { dnsSubdomain, pathSegment } from '../../names.js';
import { IP_ADDRESSES, SERVICE_CIDRS } from '../../resources.js';

/** The labels of the addresses that the apiserver itself gave to Services. */
export const FAMILY_LABEL = 'ipaddress.kubernetes.io/ip-family';
export const MANAGED_BY_LABEL = 'ipaddress.kubernetes.io/managed-by';
export const ALLOCATOR = 'ipallocator.k8s.io';

export const ipAddressKind: KindDefinition<V1IPAddress> = {
  type: IP_ADDRESSES,
  singular: 'ipaddress',
  shortNames: ['ip'],
  categories: [],
  model: 'V1IPAddress',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'ipAddress',
  validate: ({ spec }, old) => [
    ...(spec?.parentRef === undefined
      ? [required('spec.parentRef')]
      : validateParent(spec.parentRef, 'spec.parentRef')),
    ...(old === undefined
      ? []
      : checkImmutable('spec.parentRef', 'V1IPAddressSpec.parentRef', spec?.parentRef, old.spec.parentRef)),
  ],
  columns: [nameColumn, column('ParentRef', parentCell, { description: 'What has the address.' })],
};

function validateParent({ group, resource, name, namespace }: V1ParentReference, at: string): Cause[] {
  return [
    ...(group ? checkName(`${at}.group`, group, dnsSubdomain) : []),
    ...checkRequiredName(`${at}.resource`, resource, pathSegment),
    ...checkRequiredName(`${at}.name`, name, pathSegment),
    ...(namespace ? checkName(`${at}.namespace`, namespace, pathSegment) : []),
  ];
}

function parentCell({ spec }: V1IPAddress): string {
  if (spec?.parentRef === undefined) return '<none>';
  const { group, resource, namespace, name } = spec.parentRef;
  const kind = group ? `${resource}.${group}` : resource;
  return [kind.toLowerCase(), ...(namespace ? [namespace] : []), name].join('/');
}

export const serviceCidrKind: KindDefinition<V1ServiceCIDR> = {
  type: SERVICE_CIDRS,
  singular: 'servicecidr',
  shortNames: [],
  categories: [],
  model: 'V1ServiceCIDR',
  hasStatus: true,
  statusKeeps: STATUS_METADATA,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate: ({ spec }, old) => [
    ...validateCidrs(spec?.cidrs ?? []),
    ...(old === undefined
      ? []
      : checkImmutable('spec.cidrs', 'V1ServiceCIDRSpec.cidrs', spec?.cidrs, old.spec?.cidrs)),
  ],
  columns: [
    nameColumn,
    column('CIDRs', ({ spec }) => spec?.cidrs?.join(',') ?? '', { description: 'Its networks.' }),
    ageColumn,
  ],
};

function validateCidrs(cidrs: readonly string[]): Cause[] {
  const at = 'spec.cidrs';
  if (cidrs.length === 0) return [required(at, 'at least one CIDR required')];
  if (cidrs.length > 2) return [invalidValue(at, cidrs, 'may only hold up to 2 values')];
  const causes = cidrs.flatMap((text, index) => {
    const cidr = parseCidr(text);
    if (cidr === undefined)
      return [
        invalidValue(
          `${at}[${index}]`,
          text,
          'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
      ];
    const canonical = formatCidr(cidr);
    return canonical === text
      ? []
      : [invalidValue(`${at}[${index}]`, text, `must be in canonical form (${JSON.stringify(canonical)})`)];
  });
  const families = new Set(cidrs.map((text) => parseCidr(text)?.family));
  if (causes.length === 0 && families.size < cidrs.length)
    causes.push(
      invalidValue(
        at,
        cidrs,
        'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96',
      ),
    );
  return causes;
}
