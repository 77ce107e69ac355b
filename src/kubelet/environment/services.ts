// Variables that tell a container of the services of its namespace. Pure.
// Guarantees: only services with an address are told; `kubernetes` of the default namespace always is.
import type { V1Service } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';

export type Service = Stored<V1Service>;

export function serviceVariables(
  services: readonly Service[],
  { namespace, links }: { readonly namespace: string; readonly links: boolean },
): ReadonlyMap<string, string> {
  const told = new Map<string, Service>();
  for (const service of services) {
    const { name, namespace: home } = service.metadata;
    if (!hasAddress(service)) continue;
    if (home === namespace && links) told.set(name, service);
    else if (home === 'default' && name === 'kubernetes' && !told.has(name)) told.set(name, service);
  }
  return new Map([...told.values()].flatMap(variablesOf));
}

function hasAddress({ spec }: Service): boolean {
  return spec.clusterIP !== undefined && spec.clusterIP !== '' && spec.clusterIP !== 'None';
}

function variablesOf({ metadata, spec }: Service): [string, string][] {
  const name = variableName(metadata.name);
  const host = spec.clusterIP ?? '';
  const ports = spec.ports ?? [];
  const first = ports[0];
  if (first === undefined) return [[`${name}_SERVICE_HOST`, host]];
  const address = host.includes(':') ? `[${host}]` : host;
  return [
    [`${name}_SERVICE_HOST`, host],
    [`${name}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap(({ name: portName, port }): [string, string][] =>
      portName ? [[`${name}_SERVICE_PORT_${variableName(portName)}`, String(port)]] : [],
    ),
    ...ports.flatMap(({ port, protocol = 'TCP' }, index): [string, string][] => {
      const scheme = protocol.toLowerCase();
      const prefix = `${name}_PORT_${port}_${protocol.toUpperCase()}`;
      const url = `${scheme}://${address}:${port}`;
      return [
        ...(index === 0 ? [[`${name}_PORT`, url] as [string, string]] : []),
        [prefix, url],
        [`${prefix}_PROTO`, scheme],
        [`${prefix}_PORT`, String(port)],
        [`${prefix}_ADDR`, host],
      ];
    }),
  ];
}

const variableName = (name: string) => name.toUpperCase().replaceAll('-', '_');
