// The shape of CiliumNetworkPolicy: one rule in all its directions, twice, deep, with alternatives at many levels.
// Guarantees: hundreds of kilobytes as it is sent, as the project's own is.
import { type CustomShape, conditions, list, mapOf, object, type Schema, text } from './shape.js';

const LONG =
  'As it is described by the project, which explains each field at length: what it selects, how it joins with its ' +
  'siblings, what an empty value means as opposed to one that is absent, and from which release on it has been there. ' +
  'Where a field stands for traffic it also says which of the other fields it can be combined with, what happens to ' +
  'traffic that none of them matches, and how the same is written in a policy of the kind that comes with Kubernetes, ' +
  'so that whoever moves from one to the other knows what to expect of it. ';

const selector = (description: string): Schema =>
  object(
    {
      matchLabels: {
        ...mapOf(
          text('The value of the label.', {
            maxLength: 63,
            pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$',
          }),
        ),
        description: LONG,
      },
      matchExpressions: list(
        object(
          {
            key: text('The label.'),
            operator: text('How they relate.', { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }),
            values: list(text('One of the values.'), { 'x-kubernetes-list-type': 'atomic' }),
          },
          { required: ['key', 'operator'] },
        ),
        { description: LONG, 'x-kubernetes-list-type': 'atomic' },
      ),
    },
    { description: description + LONG, 'x-kubernetes-map-type': 'atomic' },
  );

const PORT =
  '^(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})|([a-zA-Z0-9]-?)*[a-zA-Z](-?[a-zA-Z0-9])*$';
const ports = list(
  object(
    {
      port: text(LONG, { maxLength: 63, pattern: PORT }),
      endPort: { type: 'integer', format: 'int32', minimum: 0, maximum: 65535, description: LONG },
      protocol: text(LONG, { enum: ['TCP', 'UDP', 'SCTP', 'ANY'] }),
    },
    { required: ['port'] },
  ),
  { maxItems: 40, description: LONG },
);
const matches = object(
  {
    value: text(LONG),
    mismatch: text(LONG, { enum: ['LOG', 'ADD', 'DELETE', 'REPLACE'] }),
    name: text(LONG, { minLength: 1 }),
    secret: object({ name: text(LONG), namespace: text(LONG) }, { required: ['name'] }),
  },
  { required: ['name'] },
);
const rules = object(
  {
    http: list(
      object({
        method: text(LONG),
        path: text(LONG),
        host: text(LONG, { format: 'idn-hostname' }),
        headers: list(text(LONG)),
        headerMatches: list(matches),
      }),
      { description: LONG },
    ),
    kafka: list(
      object({
        apiKey: text(LONG),
        role: text(LONG, { enum: ['produce', 'consume'] }),
        topic: text(LONG, { maxLength: 255 }),
      }),
      { description: LONG },
    ),
    dns: list(
      object({
        matchName: text(LONG, { maxLength: 255, pattern: '^([-a-zA-Z0-9_]+[.]?)+$' }),
        matchPattern: text(LONG, { maxLength: 255, pattern: '^([-a-zA-Z0-9_*]+[.]?)+$' }),
      }),
      { description: LONG },
    ),
  },
  {
    description: LONG,
    oneOf: ['http', 'kafka', 'dns'].map((name) => ({ properties: { [name]: {} }, required: [name] })),
  },
);
const cidrSet = list(
  object(
    {
      cidr: text(LONG, { format: 'cidr' }),
      cidrGroupRef: text(LONG, { maxLength: 253 }),
      except: list(text(LONG, { format: 'cidr' })),
    },
    {
      oneOf: ['cidr', 'cidrGroupRef'].map((name) => ({ properties: { [name]: {} }, required: [name] })),
    },
  ),
);
const icmps = list(
  object({
    fields: list(
      object(
        {
          family: text(LONG, { default: 'IPv4', enum: ['IPv4', 'IPv6'] }),
          type: {
            description: LONG,
            'x-kubernetes-int-or-string': true,
            anyOf: [{ type: 'integer' }, { type: 'string' }],
            pattern:
              '^([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|EchoReply|EchoRequest|DestinationUnreachable)$',
          },
        },
        { required: ['type'] },
      ),
      { maxItems: 40 },
    ),
  }),
);
const ENTITIES = [
  'all',
  'world',
  'cluster',
  'host',
  'init',
  'ingress',
  'remote-node',
  'health',
  'none',
  'kube-apiserver',
];

function direction(end: 'from' | 'to', isDenied: boolean): Schema {
  const names = (name: string) => `${end}${name}`;
  return list(
    object({
      [names('Endpoints')]: list(selector('Whose labels.')),
      [names('Requires')]: list(selector('Which they need.')),
      [names('Nodes')]: list(selector('Which nodes.')),
      [names('CIDR')]: list(text(LONG, { format: 'cidr' })),
      [names('CIDRSet')]: cidrSet,
      [names('Entities')]: list(text(LONG, { enum: ENTITIES })),
      [names('Groups')]: list(object({ aws: object({ region: text(LONG), labels: mapOf(text(LONG)) }) })),
      icmps,
      toPorts: list(object({ ports, serverNames: list(text(LONG)), ...(isDenied ? {} : { rules }) })),
      ...(isDenied
        ? {}
        : {
            authentication: object(
              { mode: text(LONG, { enum: ['disabled', 'required', 'test-always-fail'] }) },
              { required: ['mode'] },
            ),
          }),
    }),
    { description: LONG },
  );
}

const DIRECTIONS = ['ingress', 'ingressDeny', 'egress', 'egressDeny'];
const rule = object(
  {
    description: text(LONG),
    endpointSelector: selector('Whom the rule is about.'),
    nodeSelector: selector('Which nodes the rule is about.'),
    enableDefaultDeny: object({ ingress: { type: 'boolean' }, egress: { type: 'boolean' } }),
    labels: list(object({ key: text(LONG), value: text(LONG), source: text(LONG) }, { required: ['key'] })),
    ingress: direction('from', false),
    ingressDeny: direction('from', true),
    egress: direction('to', false),
    egressDeny: direction('to', true),
  },
  {
    anyOf: DIRECTIONS.map((name) => ({ properties: { [name]: {} }, required: [name] })),
    oneOf: ['endpointSelector', 'nodeSelector'].map((name) => ({
      properties: { [name]: {} },
      required: [name],
    })),
  },
);

const web = { matchLabels: { app: 'web' } };
const toPort = (port: string, more: object = {}) => [{ toPorts: [{ ports: [{ port }], ...more }] }];

export const networkPolicy: CustomShape = {
  group: 'cilium.example.com',
  plural: 'ciliumnetworkpolicies',
  kind: 'CiliumNetworkPolicy',
  scope: 'Namespaced',
  schema: object({
    spec: rule,
    specs: list(rule),
    status: object({
      conditions,
      derivativePolicies: {
        ...mapOf(
          object({
            ok: { type: 'boolean' },
            error: text(LONG),
            revision: { type: 'integer', format: 'int64' },
          }),
        ),
        description: LONG,
      },
    }),
  }),
  good: {
    spec: {
      endpointSelector: web,
      ingress: [
        {
          fromEndpoints: [{}],
          toPorts: [{ ports: [{ port: '80', protocol: 'TCP' }], rules: { http: [{ path: '/' }] } }],
        },
        { icmps: [{ fields: [{ type: 8 }, { type: 'EchoRequest', family: 'IPv6' }] }] },
      ],
      egress: [{ toCIDRSet: [{ cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] }] }],
    },
  },
  refused: [
    {
      spec: { endpointSelector: web, nodeSelector: web, ingress: [{}] },
      words:
        '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    },
    {
      spec: { endpointSelector: web },
      words: '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
    },
    {
      spec: { endpointSelector: web, ingress: toPort('80', { rules: { http: [], dns: [] } }) },
      words:
        '"spec.ingress[0].toPorts[0].rules" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    },
    {
      spec: { endpointSelector: web, ingress: toPort('#') },
      words:
        'spec.ingress[0].toPorts[0].ports[0].port: Invalid value: "#": spec.ingress[0].toPorts[0].ports[0].port in body should match',
    },
    {
      spec: { endpointSelector: web, ingress: [{ icmps: [{ fields: [{ type: 'Nothing' }] }] }] },
      words: 'spec.ingress[0].icmps[0].fields[0].type in body should match',
    },
    {
      spec: { endpointSelector: web, egress: [{ toEntities: ['moon'] }] },
      words: 'spec.egress[0].toEntities[0]: Unsupported value: "moon": supported values: "all", "world"',
    },
    {
      spec: { endpointSelector: web, egress: [{ toCIDR: ['10.0.0.0'] }] },
      words:
        'spec.egress[0].toCIDR[0]: Invalid value: "10.0.0.0": spec.egress[0].toCIDR[0] in body must be of type cidr: "10.0.0.0"',
    },
  ],
  explained: ['spec.ingress.toPorts.rules.http.headerMatches.mismatch', 'REPLACE'],
};
