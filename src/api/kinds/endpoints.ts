// Endpoints: the addresses behind a service, in the old form that EndpointSlice has replaced. Pure.
// Guarantees: every address is one that can be sent to, and ports can be told apart.
import { type Cause, checkName, checkOneOf, invalidValue, required } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import { endpointIpFaults } from '../endpointIp.js';
import type { CoreV1EndpointPort, V1EndpointAddress, V1Endpoints } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { ipAddress, portNumber } from '../names.js';
import { sameJson } from '../ownKeys.js';
import { ENDPOINTS } from '../resources.js';

const SHOWN = 3;

export const endpointsKind: KindDefinition<V1Endpoints> = {
  type: ENDPOINTS,
  createdByUpdate: true,
  singular: 'endpoints',
  shortNames: ['ep'],
  categories: [],
  model: 'V1Endpoints',
  hasStatus: false,
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    for (const port of draft.subsets?.flatMap(({ ports }) => ports ?? []) ?? []) port.protocol ||= 'TCP';
  },
  validate: ({ subsets = [] }, old) =>
    // What an earlier version took may stay as it is.
    (sameJson(old?.subsets, subsets) ? [] : subsets).flatMap(
      ({ addresses = [], notReadyAddresses = [], ports = [] }, index) => {
        const at = `subsets[${index}]`;
        const isEmpty = addresses.length + notReadyAddresses.length === 0;
        return [
          ...(isEmpty ? [required(at, 'must specify `addresses` or `notReadyAddresses`')] : []),
          ...validateAddresses(addresses, `${at}.addresses`),
          ...validateAddresses(notReadyAddresses, `${at}.notReadyAddresses`),
          ...validatePorts(ports, `${at}.ports`),
        ];
      },
    ),
  columns: [
    nameColumn,
    column('Endpoints', endpointsCell, { description: 'The addresses that are ready.' }),
    ageColumn,
  ],
};

function validateAddresses(addresses: readonly V1EndpointAddress[], at: string): Cause[] {
  return addresses.flatMap(({ ip = '' }, index) => [
    ...checkName(`${at}[${index}].ip`, ip, ipAddress),
    ...checkName(`${at}[${index}].ip`, ip, endpointIpFaults),
  ]);
}

function validatePorts(ports: readonly CoreV1EndpointPort[], at: string): Cause[] {
  return ports.flatMap(({ name, port = 0, protocol }, index) => [
    ...(ports.length > 1 && !name ? [required(`${at}[${index}].name`)] : []),
    ...portNumber(port).map((why) => invalidValue(`${at}[${index}].port`, port, why)),
    ...checkOneOf(`${at}[${index}].protocol`, protocol, ['SCTP', 'TCP', 'UDP']),
  ]);
}

function endpointsCell({ subsets = [] }: V1Endpoints): string {
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port))),
  );
  return all.length === 0 ? '<none>' : firstOf(all);
}

const hostPort = (ip: string, port: number) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);

/** The first few, and how many are left. */
export function firstOf(texts: readonly string[]): string {
  const shown = texts.slice(0, SHOWN).join(',');
  return texts.length > SHOWN ? `${shown} + ${texts.length - SHOWN} more...` : shown;
}
