// EndpointSlice: some of the addresses behind a service, with what is known of each. Pure.
// Guarantees: all addresses of a slice are of the family it declares, which never changes, and can be sent to.
import { type Cause, checkOneOf, IMMUTABLE, invalidValue, required } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import { endpointIpFaults } from '../endpointIp.js';
import type { V1Endpoint, V1EndpointSlice } from '../gen/types.js';
import { parseIp } from '../ip.js';
import type { KindDefinition } from '../kind.js';
import { dnsSubdomain, portNumber } from '../names.js';
import { ENDPOINT_SLICES } from '../resources.js';
import { firstOf } from './endpoints.js';

const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;

export const endpointSliceKind: KindDefinition<V1EndpointSlice> = {
  type: ENDPOINT_SLICES,
  singular: 'endpointslice',
  shortNames: [],
  categories: [],
  model: 'V1EndpointSlice',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.endpoints ??= [];
    for (const port of draft.ports ?? []) {
      port.name ??= '';
      port.protocol ||= 'TCP';
    }
  },
  validate(slice, old) {
    const { addressType, endpoints = [], ports = [] } = slice;
    const causes: Cause[] = addressType
      ? checkOneOf('addressType', addressType, ['FQDN', 'IPv4', 'IPv6'])
      : [required('addressType')];
    if (old !== undefined && old.addressType !== addressType)
      causes.push(invalidValue('addressType', addressType, IMMUTABLE));
    if (endpoints.length > MAX_ENDPOINTS)
      causes.push({
        reason: 'FieldValueTooMany',
        message: `Too many: ${endpoints.length}: must have at most ${MAX_ENDPOINTS} items`,
        field: 'endpoints',
      });
    for (const [index, endpoint] of endpoints.entries())
      causes.push(...validateEndpoint(endpoint, addressType, `endpoints[${index}]`));
    for (const [index, { port, protocol }] of ports.entries()) {
      if (port !== undefined)
        causes.push(...portNumber(port).map((why) => invalidValue(`ports[${index}].port`, port, why)));
      causes.push(...checkOneOf(`ports[${index}].protocol`, protocol, ['SCTP', 'TCP', 'UDP']));
    }
    return causes;
  },
  columns: [
    nameColumn,
    column('AddressType', ({ addressType }) => addressType, { description: 'The family of its addresses.' }),
    column('Ports', portsCell, { description: 'The ports of its addresses.' }),
    column('Endpoints', endpointsCell, { description: 'Its addresses.' }),
    ageColumn,
  ],
};

function validateEndpoint({ addresses = [] }: V1Endpoint, type: string, at: string): Cause[] {
  if (addresses.length === 0) return [required(`${at}.addresses`, 'must contain at least 1 address')];
  if (addresses.length > MAX_ADDRESSES)
    return [
      {
        reason: 'FieldValueTooMany',
        message: `Too many: ${addresses.length}: must have at most ${MAX_ADDRESSES} items`,
        field: `${at}.addresses`,
      },
    ];
  return addresses.flatMap((address, index) => {
    const field = `${at}.addresses[${index}]`;
    if (type === 'FQDN') return dnsSubdomain(address).map((why) => invalidValue(field, address, why));
    if (parseIp(address)?.family === type)
      return endpointIpFaults(address).map((why) => invalidValue(field, address, why));
    return [invalidValue(field, address, `must be a valid ${type} address`)];
  });
}

function portsCell({ ports = [] }: V1EndpointSlice): string {
  return ports.length === 0
    ? '<unset>'
    : firstOf(ports.map(({ port }) => (port === undefined ? '*' : String(port))));
}

function endpointsCell({ endpoints = [] }: V1EndpointSlice): string {
  const all = endpoints.flatMap(({ addresses }) => addresses);
  return all.length === 0 ? '<unset>' : firstOf(all);
}
