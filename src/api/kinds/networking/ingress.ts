// Ingress: which service answers which host and path. Pure.
// Guarantees: every path says how it is matched and leads to exactly one backend.
import {
  type Cause,
  checkName,
  checkRequiredName,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from '../../causes.js';
import { ageColumn, column, nameColumn, orNone } from '../../columns.js';
import type { V1HTTPIngressPath, V1Ingress, V1IngressBackend, V1IngressSpec } from '../../gen/types.js';
import { parseIp } from '../../ip.js';
import type { KindDefinition } from '../../kind.js';
import { dnsLabel, dnsSubdomain, portName, portNumber } from '../../names.js';
import { INGRESSES } from '../../resources.js';
import { isNewStatus, validateIngresses } from '../statusChecks.js';
import { wildcardSubdomain } from './hostNames.js';

const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];
/** What a path that is compared part by part may not hold. */
const FORBIDDEN_IN_PATH = ['//', '/./', '/../', '%2f', '%2F'];
const FORBIDDEN_AT_END = ['/..', '/.'];
const CLASS = 'kubernetes.io/ingress.class';
const SHOWN = 3;

export const ingressKind: KindDefinition<V1Ingress> = {
  type: INGRESSES,
  singular: 'ingress',
  shortNames: ['ing'],
  categories: [],
  model: 'V1Ingress',
  hasStatus: true,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  prepareForCreate(draft) {
    draft.status = { loadBalancer: {} };
  },
  validate({ metadata, spec = {}, status }, old) {
    const causes = validateIngress(spec);
    if (isNewStatus({ status }, old))
      causes.push(...validateIngresses(status?.loadBalancer?.ingress ?? [], { hasModes: false }));
    const annotated = metadata?.annotations?.[CLASS];
    if (old === undefined && annotated !== undefined && spec.ingressClassName !== undefined)
      causes.push(
        invalidValue(
          `metadata.annotations[${CLASS}]`,
          annotated,
          'can not be set when the class field is also set',
        ),
      );
    return causes;
  },
  columns: [
    nameColumn,
    column(
      'Class',
      ({ spec, metadata }) => orNone(spec?.ingressClassName ?? metadata?.annotations?.[CLASS]),
      {
        description: 'The class of the controller that serves it.',
      },
    ),
    column('Hosts', hostsCell, { description: 'The hosts it answers for.' }),
    column('Address', addressCell, { description: 'Where it is reached.' }),
    column('Ports', ({ spec }) => ((spec?.tls ?? []).length > 0 ? '80, 443' : '80'), {
      description: 'The ports it listens on.',
    }),
    ageColumn,
  ],
};

function hostsCell({ spec }: V1Ingress): string {
  const hosts = (spec?.rules ?? []).flatMap(({ host }) => (host ? [host] : []));
  if (hosts.length === 0) return '*';
  const shown = hosts.slice(0, SHOWN).join(',');
  return hosts.length > SHOWN ? `${shown} + ${hosts.length - SHOWN} more...` : shown;
}

function addressCell({ status }: V1Ingress): string {
  return (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '').join(',');
}

function validateIngress(spec: V1IngressSpec): Cause[] {
  const { defaultBackend, rules = [], tls = [], ingressClassName } = spec;
  const causes: Cause[] = [];
  if (rules.length === 0 && defaultBackend === undefined)
    causes.push(
      invalidValue('spec', spec.rules ?? null, 'either `defaultBackend` or `rules` must be specified'),
    );
  if (defaultBackend !== undefined) causes.push(...validateBackend(defaultBackend, 'spec.defaultBackend'));
  for (const [index, { host, http }] of rules.entries()) {
    const at = `spec.rules[${index}]`;
    if (host) causes.push(...validateHost(host, `${at}.host`));
    if (http === undefined) continue;
    if ((http.paths ?? []).length === 0) causes.push(required(`${at}.http.paths`));
    for (const [i, path] of (http.paths ?? []).entries())
      causes.push(...validatePath(path, `${at}.http.paths[${i}]`));
  }
  for (const [index, { hosts = [], secretName }] of tls.entries()) {
    const at = `spec.tls[${index}]`;
    for (const [i, host] of hosts.entries())
      causes.push(
        ...checkName(`${at}.hosts[${i}]`, host, host.startsWith('*') ? wildcardSubdomain : dnsSubdomain),
      );
    if (secretName) causes.push(...checkName(`${at}.secretName`, secretName, dnsSubdomain));
  }
  if (ingressClassName !== undefined)
    causes.push(...checkName('spec.ingressClassName', ingressClassName, dnsSubdomain));
  return causes;
}

function validateHost(host: string, at: string): Cause[] {
  if (parseIp(host) !== undefined) return [invalidValue(at, host, 'must be a DNS name, not an IP address')];
  return checkName(at, host, host.includes('*') ? wildcardSubdomain : dnsSubdomain);
}

function validatePath({ path = '', pathType, backend }: V1HTTPIngressPath, at: string): Cause[] {
  if (pathType === undefined) return [required(`${at}.pathType`, 'pathType must be specified')];
  const causes: Cause[] = [];
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!path.startsWith('/')) causes.push(invalidValue(`${at}.path`, path, 'must be an absolute path'));
    for (const part of FORBIDDEN_IN_PATH)
      if (path.includes(part)) causes.push(invalidValue(`${at}.path`, path, `must not contain '${part}'`));
    for (const end of FORBIDDEN_AT_END)
      if (path.endsWith(end)) causes.push(invalidValue(`${at}.path`, path, `cannot end with '${end}'`));
  } else if (pathType === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/'))
      causes.push(invalidValue(`${at}.path`, path, 'must be an absolute path'));
  } else causes.push(notSupported(`${at}.pathType`, pathType, PATH_TYPES));
  return [...causes, ...validateBackend(backend ?? {}, `${at}.backend`)];
}

function validateBackend({ service, resource }: V1IngressBackend, at: string): Cause[] {
  if (resource !== undefined) {
    if (service !== undefined) return [invalidValue(at, '', 'cannot set both resource and service backends')];
    const causes: Cause[] = [];
    if (!resource.kind) causes.push(required(`${at}.resource.kind`));
    if (!resource.name) causes.push(required(`${at}.resource.name`));
    return causes;
  }
  if (service === undefined) return [required(at, 'must specify one of resource or service')];
  const here = `${at}.service`;
  const causes = checkRequiredName(`${here}.name`, service.name, dnsLabel);
  const { name = '', number = 0 } = service.port ?? {};
  if (name !== '' && number !== 0)
    causes.push(forbiddenField(here, 'cannot set both port name & port number'));
  else if (name !== '') causes.push(...checkName(`${here}.port.name`, name, portName));
  else if (number !== 0)
    causes.push(...portNumber(number).map((why) => invalidValue(`${here}.port.number`, number, why)));
  else causes.push(required(here, 'port name or number is required'));
  return causes;
}
