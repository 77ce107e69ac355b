// Reading ClusterNetworkPolicy objects: what is read, and that what cannot be read opens nothing and is told.
import { describe, expect, test } from 'vitest';
import {
  type ClusterNetworkPolicy,
  clusterPolicyOf,
} from '../../../../src/network/policy/clusterNetworkPolicy.js';

type Spec = Record<string, unknown>;

const read = (spec: Spec) =>
  clusterPolicyOf({
    metadata: { name: 'one' },
    spec: { tier: 'Admin', priority: 7, subject: { namespaces: {} }, ...spec },
  } as unknown as ClusterNetworkPolicy);
const everyPod = { namespaces: {}, pods: {} };

test('a whole policy', () => {
  expect(
    read({
      tier: 'Baseline',
      subject: { pods: { podSelector: { matchLabels: { app: 'db' } } } },
      ingress: [
        {
          name: 'web',
          action: 'Accept',
          from: [{ pods: { namespaceSelector: { matchLabels: { team: 'x' } }, podSelector: {} } }],
          protocols: [
            { tcp: { destinationPort: { number: 80 } } },
            { udp: { destinationPort: { range: { start: 53, end: 54 } } } },
          ],
        },
      ],
      egress: [
        { action: 'Pass', to: [{ namespaces: {} }, { networks: ['10.0.0.0/8', 'fd00::/8'] }] },
        { action: 'Deny', to: [{ namespaces: {} }], protocols: [{ destinationNamedPort: 'http' }] },
      ],
    }),
  ).toEqual({
    messages: [],
    policy: {
      key: 'one',
      tier: 'baseline',
      priority: 7,
      subject: { namespaces: {}, pods: { matchLabels: { app: 'db' } } },
      rules: {
        ingress: [
          {
            action: 'accept',
            peers: { selections: [{ namespaces: { matchLabels: { team: 'x' } }, pods: {} }], blocks: [] },
            ports: [
              { protocol: 'tcp', port: 80 },
              { protocol: 'udp', port: 53, endPort: 54 },
            ],
          },
        ],
        egress: [
          {
            action: 'pass',
            peers: {
              selections: [everyPod],
              blocks: [
                { cidr: '10.0.0.0/8', except: [] },
                { cidr: 'fd00::/8', except: [] },
              ],
            },
          },
          {
            action: 'deny',
            peers: { selections: [everyPod], blocks: [] },
            ports: ['tcp', 'udp', 'sctp'].map((protocol) => ({ protocol, name: 'http' })),
          },
        ],
      },
    },
  });
});

test('a direction without rules is not restricted', () => {
  expect(read({ ingress: [], egress: [{ action: 'Deny', to: [{ namespaces: {} }] }] }).policy?.rules).toEqual(
    {
      egress: [{ action: 'deny', peers: { selections: [everyPod], blocks: [] } }],
    },
  );
});

describe('a policy restricts nobody, and says so, when', () => {
  test.each([
    ['its tier is not known', { tier: 'Middle' }, 'tier Middle is not known'],
    ['its tier is a word of JavaScript', { tier: 'constructor' }, 'tier constructor is not known'],
    ['its priority is too high', { priority: 1001 }, 'priority 1001 is not from 0 to 1000'],
    ['its priority is negative', { priority: -1 }, 'priority -1 is not from 0 to 1000'],
    ['it has no subject', { subject: {} }, 'subject: a peer must have one field that is known, not none'],
    [
      'the selector of its subject cannot be read',
      { subject: { namespaces: { matchExpressions: [{ key: 'a', operator: 'Near' }] } } },
      'subject: "Near" is not a valid label selector operator',
    ],
  ])('%s', (_, spec, text) => {
    expect(read(spec)).toEqual({ policy: undefined, messages: [`one restricts nobody: ${text}`] });
  });
});

describe('a rule that cannot be enforced as written accepts nothing, or refuses everything:', () => {
  const to = [{ namespaces: {} }];
  const cases: [string, Spec, string][] = [
    ['domain names', { to: [...to, { domainNames: ['a.example'] }] }, 'domainNames is not enforced here'],
    ['nodes', { to: [{ nodes: {} }] }, 'nodes is not enforced here'],
    ['no peers', { to: [] }, 'it has no peers'],
    ['a peer of a newer API', { to: [{}] }, 'a peer must have one field that is known, not none'],
    [
      'a peer of two kinds',
      { to: [{ namespaces: {}, networks: ['10.0.0.0/8'] }] },
      'a peer must have one field that is known, not namespaces and networks',
    ],
    ['a peer of an unknown kind', { to: [{ zones: {} }] }, 'zones is not enforced here'],
    ['pods without a selector', { to: [{ pods: { namespaceSelector: {} } }] }, 'pods is not enforced here'],
    ['no network', { to: [{ networks: ['10.0.0.0/8', '10.0.0/8'] }] }, '"10.0.0/8" is no network'],
    [
      'a selector with an unknown operator',
      { to: [{ pods: { podSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } } }] },
      '"Near" is not a valid label selector operator',
    ],
    ['no protocol', { to, protocols: [] }, 'its list of protocols is empty'],
    ['a protocol of a newer API', { to, protocols: [{}] }, 'protocols {} cannot be read'],
    [
      'a protocol without a port',
      { to, protocols: [{ tcp: {} }] },
      'destination port undefined of tcp cannot be read',
    ],
    [
      'a range that ends before it starts',
      { to, protocols: [{ udp: { destinationPort: { range: { start: 9, end: 8 } } } }] },
      'destination port {"range":{"start":9,"end":8}} of udp cannot be read',
    ],
    [
      'port 0',
      { to, protocols: [{ sctp: { destinationPort: { number: 0 } } }] },
      'destination port {"number":0} of sctp cannot be read',
    ],
  ];
  test.each(cases)('%s', (_, rule, text) => {
    const egress = ['Accept', 'Deny', 'Pass'].map((action) => ({ name: 'r', action, ...rule }));
    expect(read({ egress })).toEqual({
      policy: expect.objectContaining({
        rules: {
          egress: [
            { action: 'accept', peers: { selections: [], blocks: [] } },
            { action: 'deny' },
            { action: 'deny' },
          ],
        },
      }),
      messages: [
        `one, egress rule 0 (r): ${text}, so the rule accepts nothing`,
        `one, egress rule 1 (r): ${text}, so the rule refuses all egress`,
        `one, egress rule 2 (r): ${text}, so the rule refuses all egress`,
      ],
    });
  });

  test('an unknown action refuses, and networks are no peers of ingress', () => {
    expect(
      read({
        ingress: [
          { action: 'Log', from: [{ namespaces: {} }] },
          { action: 'Accept', from: [{ networks: ['10.0.0.0/8'] }] },
        ],
      }),
    ).toEqual({
      policy: expect.objectContaining({
        rules: {
          ingress: [{ action: 'deny' }, { action: 'accept', peers: { selections: [], blocks: [] } }],
        },
      }),
      messages: [
        'one, ingress rule 0: action Log is not known, so the rule refuses all ingress',
        'one, ingress rule 1: networks is not enforced here, so the rule accepts nothing',
      ],
    });
  });
});
