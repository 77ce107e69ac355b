// NetworkPolicy: which traffic the selected pods take and send. Pure.
// Guarantees: every peer is one thing, every port can be matched, every network is one.
import { type Cause, checkName, checkOneOf, forbiddenField, invalidValue, required } from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type {
  V1IPBlock,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1NetworkPolicySpec,
} from '../../gen/types.js';
import { contains, formatIp, parseCidr } from '../../ip.js';
import type { Draft, KindDefinition } from '../../kind.js';
import { validateLabelSelector } from '../../meta.js';
import { portName, portNumber } from '../../names.js';
import { NETWORK_POLICIES } from '../../resources.js';
import { formatLabelSelector } from '../../selectors.js';

export const networkPolicyKind: KindDefinition<V1NetworkPolicy> = {
  type: NETWORK_POLICIES,
  singular: 'networkpolicy',
  shortNames: ['netpol'],
  categories: [],
  model: 'V1NetworkPolicy',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.spec ??= {};
    defaultPolicy(draft.spec);
  },
  validate: ({ spec }) => validatePolicy(spec ?? {}),
  columns: [
    nameColumn,
    column('Pod-Selector', ({ spec }) => formatLabelSelector(spec?.podSelector), {
      description: 'The pods it is for.',
    }),
    ageColumn,
  ],
};

function defaultPolicy(spec: Draft<V1NetworkPolicySpec>): void {
  spec.podSelector ??= {};
  if ((spec.policyTypes ?? []).length === 0)
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
  const rules = [...(spec.ingress ?? []), ...(spec.egress ?? [])];
  for (const port of rules.flatMap(({ ports }) => ports ?? [])) port.protocol ||= 'TCP';
}

function validatePolicy({
  podSelector,
  ingress = [],
  egress = [],
  policyTypes = [],
}: V1NetworkPolicySpec): Cause[] {
  const causes = [
    ...validateLabelSelector(podSelector, 'spec.podSelector'),
    ...ingress.flatMap(({ from = [], ports = [] }, index) => [
      ...validatePorts(ports, `spec.ingress[${index}].ports`),
      ...validatePeers(from, `spec.ingress[${index}].from`),
    ]),
    ...egress.flatMap(({ to = [], ports = [] }, index) => [
      ...validatePorts(ports, `spec.egress[${index}].ports`),
      ...validatePeers(to, `spec.egress[${index}].to`),
    ]),
  ];
  if (policyTypes.length > 2)
    return [
      ...causes,
      invalidValue('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes'),
    ];
  return [
    ...causes,
    ...policyTypes.flatMap((type, index) =>
      checkOneOf(`spec.policyTypes[${index}]`, type, ['Egress', 'Ingress']),
    ),
  ];
}

function validatePorts(ports: readonly V1NetworkPolicyPort[], at: string): Cause[] {
  return ports.flatMap(({ port, endPort, protocol }, index) => {
    const here = `${at}[${index}]`;
    const causes = checkOneOf(`${here}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
    if (typeof port === 'number') {
      causes.push(...portNumber(port).map((why) => invalidValue(`${here}.port`, port, why)));
      if (endPort !== undefined && endPort < port)
        causes.push(invalidValue(`${here}.endPort`, endPort, 'must be greater than or equal to `port`'));
      if (endPort !== undefined)
        causes.push(...portNumber(endPort).map((why) => invalidValue(`${here}.endPort`, endPort, why)));
      return causes;
    }
    if (endPort !== undefined)
      causes.push(
        invalidValue(
          `${here}.endPort`,
          endPort,
          port === undefined
            ? 'may not be specified when `port` is not specified'
            : 'may not be specified when `port` is non-numeric',
        ),
      );
    return port === undefined ? causes : [...causes, ...checkName(`${here}.port`, port, portName)];
  });
}

function validatePeers(peers: readonly V1NetworkPolicyPeer[], at: string): Cause[] {
  return peers.flatMap(({ podSelector, namespaceSelector, ipBlock }, index) => {
    const here = `${at}[${index}]`;
    const causes = [
      ...validateLabelSelector(podSelector, `${here}.podSelector`),
      ...validateLabelSelector(namespaceSelector, `${here}.namespaceSelector`),
      ...(ipBlock === undefined ? [] : validateBlock(ipBlock, `${here}.ipBlock`)),
    ];
    const isSelected = podSelector !== undefined || namespaceSelector !== undefined;
    if (!isSelected && ipBlock === undefined) causes.push(required(here, 'must specify a peer'));
    if (isSelected && ipBlock !== undefined)
      causes.push(forbiddenField(here, 'may not specify both ipBlock and another peer'));
    return causes;
  });
}

const NOT_A_CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

function validateBlock({ cidr, except = [] }: V1IPBlock, at: string): Cause[] {
  if (!cidr) return [required(`${at}.cidr`)];
  const whole = parseCidr(cidr);
  if (whole === undefined) return [invalidValue(`${at}.cidr`, cidr, NOT_A_CIDR)];
  return except.flatMap((text, index) => {
    const here = `${at}.except[${index}]`;
    const part = parseCidr(text);
    if (part === undefined) return [invalidValue(here, text, NOT_A_CIDR)];
    const isInside = contains(whole, formatIp({ family: part.family, value: part.base }));
    return isInside && part.prefix > whole.prefix
      ? []
      : [invalidValue(here, text, 'must be a strict subset of `cidr`')];
  });
}
