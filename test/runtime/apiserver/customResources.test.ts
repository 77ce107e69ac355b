// Definitions of the shapes that known projects use, through the life of each, by the stock kubectl.
import { expect, test } from 'vitest';
import { customServerWithKubectl } from '../../support/customKubectl.js';
import { definition, OPEN } from '../../support/customResources.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const labelSelector = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  properties: {
    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
    matchExpressions: {
      type: 'array',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: { type: 'string' },
          operator: { type: 'string' },
          values: { type: 'array', items: { type: 'string' } },
        },
      },
    },
  },
};

const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status'],
    properties: {
      type: { type: 'string', maxLength: 316 },
      status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
      reason: { type: 'string' },
      lastTransitionTime: { type: 'string', format: 'date-time' },
    },
  },
};

const status = { type: 'object', properties: { conditions } };

interface Shape {
  readonly definition: ReturnType<typeof definition>;
  readonly good: object;
  readonly bad: object;
  readonly refusal: RegExp;
  readonly explain: readonly [string, RegExp];
}

const shapes: Readonly<Record<string, Shape>> = {
  'a certificate': {
    definition: definition({
      group: 'certs.example.com',
      plural: 'certificates',
      kind: 'Certificate',
      names: { shortNames: ['cert', 'certs'], categories: ['certs'] },
      schema: {
        type: 'object',
        required: ['spec'],
        properties: {
          spec: {
            type: 'object',
            required: ['issuerRef', 'secretName'],
            properties: {
              secretName: { type: 'string', description: 'Where the key pair is kept.' },
              duration: { type: 'string' },
              dnsNames: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
              issuerRef: {
                type: 'object',
                required: ['name'],
                properties: { name: { type: 'string' }, kind: { type: 'string', default: 'Issuer' } },
              },
              privateKey: {
                type: 'object',
                properties: {
                  algorithm: { type: 'string', enum: ['RSA', 'ECDSA', 'Ed25519'] },
                  size: { type: 'integer' },
                },
              },
            },
          },
          status,
        },
      },
      version: {
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Secret', type: 'string', jsonPath: '.spec.secretName' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
      },
    }),
    good: { spec: { secretName: 'tls', issuerRef: { name: 'ca' }, dnsNames: ['a.example.com'] } },
    bad: { spec: { secretName: 'tls', issuerRef: { name: 'ca' }, privateKey: { algorithm: 'DSA' } } },
    refusal:
      /spec.privateKey.algorithm: Unsupported value: "DSA": supported values: "RSA", "ECDSA", "Ed25519"/,
    explain: ['certificates.spec.secretName', /Where the key pair is kept/],
  },
  'a service monitor': {
    definition: definition({
      group: 'monitoring.example.com',
      plural: 'servicemonitors',
      kind: 'ServiceMonitor',
      schema: {
        type: 'object',
        required: ['spec'],
        properties: {
          spec: {
            type: 'object',
            required: ['selector'],
            properties: {
              selector: labelSelector,
              endpoints: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    interval: { type: 'string', pattern: '^(0|(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?)$' },
                    port: { type: 'string' },
                    targetPort: {
                      anyOf: [{ type: 'integer' }, { type: 'string' }],
                      'x-kubernetes-int-or-string': true,
                    },
                  },
                },
              },
            },
          },
        },
      },
    }),
    good: {
      spec: { selector: { matchLabels: { app: 'x' } }, endpoints: [{ interval: '30s', targetPort: 'http' }] },
    },
    bad: { spec: { selector: {}, endpoints: [{ interval: 'soon' }] } },
    refusal:
      /spec.endpoints\[0\].interval: Invalid value: "soon": spec.endpoints\[0\].interval in body should match/,
    explain: ['servicemonitors.spec.endpoints', /<\[\]Object>|\[\]Object/],
  },
  'an HTTP route': {
    definition: definition({
      group: 'routes.example.com',
      plural: 'httproutes',
      kind: 'HTTPRoute',
      schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: {
              hostnames: {
                type: 'array',
                maxItems: 16,
                items: {
                  type: 'string',
                  minLength: 1,
                  maxLength: 253,
                  pattern: '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                },
              },
              rules: {
                type: 'array',
                default: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }],
                items: {
                  type: 'object',
                  properties: {
                    matches: {
                      type: 'array',
                      items: {
                        type: 'object',
                        properties: {
                          path: {
                            type: 'object',
                            default: { type: 'PathPrefix', value: '/' },
                            properties: {
                              type: { type: 'string', default: 'PathPrefix', enum: ['Exact', 'PathPrefix'] },
                              value: { type: 'string', default: '/' },
                            },
                          },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
          status,
        },
      },
    }),
    good: { spec: { hostnames: ['a.example.com'], rules: [{ matches: [{}] }] } },
    bad: { spec: { hostnames: ['UPPER'] } },
    refusal: /spec.hostnames\[0\] in body should match/,
    explain: ['httproutes.spec.rules.matches.path', /PathPrefix|<Object>/],
  },
  'an application with anything inside': {
    definition: definition({
      group: 'cd.example.com',
      plural: 'applications',
      kind: 'Application',
      schema: {
        type: 'object',
        required: ['spec'],
        properties: {
          spec: {
            type: 'object',
            required: ['project'],
            properties: {
              project: { type: 'string' },
              values: OPEN,
              template: {
                type: 'object',
                'x-kubernetes-embedded-resource': true,
                'x-kubernetes-preserve-unknown-fields': true,
              },
            },
            oneOf: [{ required: ['values'] }, { required: ['template'] }],
          },
        },
      },
    }),
    good: { spec: { project: 'p', values: { deep: { er: [1, { x: true }] } } } },
    bad: { spec: { project: 'p' } },
    refusal: /"spec" must validate one and only one schema \(oneOf\). Found none valid/,
    explain: ['applications.spec.project', /<string>/],
  },
};

describeWith({ tools: ['kubectl'] }, 'kubectl and custom resources', () => {
  const opened = customServerWithKubectl();

  test.each(Object.keys(shapes))('%s lives from definition to deletion', async (name) => {
    const { kubectl } = opened();
    const shape = shapes[name] as Shape;
    const { spec, metadata } = shape.definition;
    const text = (body: object) =>
      JSON.stringify({ apiVersion: `${spec.group}/v1`, kind: spec.names.kind, ...body });
    expect(await kubectl.input(JSON.stringify(shape.definition), 'apply', '-f', '-')).toMatchObject({
      code: 0,
    });
    const waited = await kubectl('wait', '--for=condition=Established', `crd/${metadata.name}`);
    expect(waited.stderr).toBe('');
    const object = { metadata: { name: 'one', namespace: 'default' }, ...shape.good };
    await until(async () => {
      const made = await kubectl.input(text(object), 'apply', '-f', '-');
      expect(made.stderr).toBe('');
    });
    const applied = await kubectl.input(
      text(object),
      'apply',
      '--server-side',
      '--force-conflicts',
      '-f',
      '-',
    );
    expect(applied).toMatchObject({ code: 0 });
    const refused = await kubectl.input(
      text({ metadata: { name: 'bad', namespace: 'default' }, ...shape.bad }),
      'create',
      '-f',
      '-',
    );
    expect(refused.stderr).toMatch(shape.refusal);
    const strange = await kubectl.input(text({ ...object, strange: 1 }), 'apply', '-f', '-');
    expect(strange.stderr).toMatch(/unknown field "strange"/);
    const [what, expected] = shape.explain;
    const resource = what.replace(/^(\w+)/, `$1.${spec.group}`.replace(/\..*/, ''));
    expect((await kubectl('explain', resource)).stdout).toMatch(expected);
    expect((await kubectl('get', `${spec.names.plural}.${spec.group}`, '-A')).stdout).toContain('one');
    expect(await kubectl('delete', 'crd', metadata.name, '--timeout=30s')).toMatchObject({ code: 0 });
    expect((await kubectl('get', `${spec.names.plural}.${spec.group}`)).code).not.toBe(0);
  });
});
