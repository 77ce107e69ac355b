// What comes in from outside: types, unknown fields, canonical values.
import { describe, expect, test } from 'vitest';
import {
  decodeModel,
  decodeObject,
  strictDecodingError,
  unknownFieldWarning,
} from '../../../src/api/decode.js';
import { INT64_FIELDS, QUANTITY_FIELDS, QUANTITY_MAPS } from '../../../src/api/formats.js';
import { schemas } from '../../../src/api/gen/schemas.js';
import { DEPLOYMENTS, LEASES, PODS, SECRETS } from '../../../src/api/resources.js';

const pod = { type: PODS, model: 'V1Pod' };
const deployment = { type: DEPLOYMENTS, model: 'V1Deployment' };
const secret = { type: SECRETS, model: 'V1Secret' };
const lease = { type: LEASES, model: 'V1Lease' };

test('drops nulls and unknown members, and says which', () => {
  const body = {
    metadata: { name: 'p', creationTimestamp: null, odd: 1 },
    spec: { containers: [{ name: 'a' }, { name: 'b', imagee: 'x' }] },
    extra: {},
  };
  const { object, unknownFields } = decodeObject(pod, body);
  expect(object).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'a' }, { name: 'b' }] },
  });
  expect(unknownFields).toEqual(['metadata.odd', 'spec.containers[1].imagee', 'extra']);
  expect(unknownFieldWarning('spec.foo')).toBe('unknown field "spec.foo"');
  expect(strictDecodingError(DEPLOYMENTS, ['spec.foo', 'x']).message).toBe(
    'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.foo", unknown field "x"',
  );
});

test('writes quantities, times and base64 as they are stored', () => {
  const limits = { cpu: 0.5, memory: '1024Mi' };
  const { object } = decodeObject(pod, { spec: { containers: [{ name: 'a', resources: { limits } }] } });
  expect(object.spec?.containers[0]?.resources?.limits).toEqual({ cpu: '500m', memory: '1Gi' });
  const time = decodeObject(lease, { spec: { renewTime: '2026-01-01T02:00:00.500000+02:00' } });
  expect(time.object.spec?.renewTime).toBe('2026-01-01T00:00:00.500000Z');
  const stamped = decodeObject(pod, { metadata: { deletionTimestamp: '2026-01-01T00:00:00.123Z' } });
  expect(stamped.object.metadata?.deletionTimestamp).toBe('2026-01-01T00:00:00Z');
  expect(decodeObject(secret, { data: { a: 'aGk=\n', b: null } }).object.data).toEqual({ a: 'aGk=', b: '' });
});

test('has null for times that Kubernetes writes whether they are set or not', () => {
  const conditions = [{ type: 'Ready', status: 'True' }];
  const { object } = decodeObject(pod, { status: { conditions } });
  expect(object.status?.conditions).toEqual([
    { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null },
  ]);
  const time = '2026-01-01T00:00:00Z';
  const set = { conditions: [{ ...conditions[0], lastProbeTime: time, lastTransitionTime: time }] };
  expect(decodeObject(pod, { status: set }).object.status).toEqual(set);
});

describe('refusals', () => {
  const prefix = 'Deployment in version "v1" cannot be handled as a Deployment: ';
  test.each([
    [
      { spec: { replicas: '3' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      { spec: { replicas: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      { spec: { replicas: 3e9 } },
      'json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      { spec: { template: { spec: { containers: [{ env: [{ name: 'A', value: 1 }] }] } } } },
      'json: cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string',
    ],
    [
      { spec: { template: { spec: { containers: {} } } } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
    ],
    [
      { metadata: { labels: { a: true } } },
      'json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      { metadata: 'x' },
      'json: cannot unmarshal string into Go struct field Deployment.metadata of type v1.ObjectMeta',
    ],
    [
      { spec: { template: { spec: { containers: [{ resources: { limits: { cpu: 'much' } } }] } } } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [[], 'json: cannot unmarshal array into Go value of type v1.Deployment'],
  ])('%j', (body, message) => {
    expect(() => decodeObject(deployment, body)).toThrow(
      expect.objectContaining({ code: 400, message: prefix + message }),
    );
  });

  test('other kinds and versions', () => {
    expect(() => decodeObject(deployment, { apiVersion: 'apps/v1beta1' })).toThrow(
      'the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)',
    );
    expect(() => decodeObject(pod, { kind: 'Service' })).toThrow(
      'Service in version "v1" cannot be handled as a Pod',
    );
  });

  test.each([
    ['2024-02-30T00:00:00Z', 'day out of range'],
    ['2023-02-29T00:00:00Z', 'day out of range'],
    ['2024-13-01T00:00:00Z', 'month out of range'],
    ['2024-01-01T24:00:00Z', 'hour out of range'],
    ['2024-01-01T00:60:00Z', 'minute out of range'],
    ['2024-06-30T23:59:60Z', 'second out of range'],
    ['0000-01-01T00:00:00+01:00', 'cannot parse it'],
    ['9999-12-31T23:59:59-01:00', 'cannot parse it'],
    ['2024-01-01 00:00:00Z', 'cannot parse it'],
  ])('the time %s', (time, why) => {
    expect(() => decodeObject(pod, { status: { startTime: time } })).toThrow(why);
    const micro = time.replace(/(:\d\d)(?=Z|[+-])/, '$1.000000');
    expect(() => decodeObject(lease, { spec: { renewTime: micro } })).toThrow(why);
  });

  test.each(['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.123Z'])(
    '%s where microseconds belong',
    (renewTime) => {
      expect(() => decodeObject(lease, { spec: { renewTime } })).toThrow('cannot parse it');
    },
  );

  test('takes leap days', () => {
    const { object } = decodeObject(pod, { status: { startTime: '2024-02-29T23:59:59Z' } });
    expect(object.status?.startTime).toBe('2024-02-29T23:59:59Z');
  });

  test('whole numbers that would be rounded', () => {
    const spec = (seconds: string) =>
      JSON.parse(`{"spec":{"terminationGracePeriodSeconds":${seconds}}}`) as unknown;
    expect(() => decodeObject(pod, spec('9223372036854775807'))).toThrow('of type int64');
    expect(() => decodeObject(pod, spec('-9007199254740993'))).toThrow('of type int64');
    expect(decodeObject(pod, spec('9007199254740991')).object.spec?.terminationGracePeriodSeconds).toBe(
      2 ** 53 - 1,
    );
    const data = (number: string) => JSON.parse(`{"data":{"a":[${number}]}}`) as unknown;
    expect(() => decodeModel('V1ControllerRevision', data('9007199254740993'))).toThrow('more digits');
    expect(decodeModel('V1ControllerRevision', data('1e30')).object).toEqual({ data: { a: [1e30] } });
    const limits = { cpu: 2 ** 53 };
    const huge = { spec: { containers: [{ name: 'a', resources: { limits } }] } };
    expect(() => decodeObject(pod, huge)).toThrow('more digits');
  });

  test('numbers beyond those of a double', () => {
    const read = (model: string, text: string) => () => decodeModel(model, JSON.parse(text));
    expect(read('V1ControllerRevision', '{"data":{"a":[1e400]}}')).toThrow('value out of range');
    expect(read('V1JSONSchemaProps', '{"maximum":-1e400}')).toThrow('value out of range');
    expect(read('V1JSONSchemaProps', '{"maximum":1e308}')).not.toThrow();
  });

  test('bad base64, bad times and depth', () => {
    expect(() => decodeObject(secret, { data: { a: 'a*b' } })).toThrow('illegal base64 data at input byte 1');
    expect(() => decodeObject(lease, { spec: { renewTime: 'now' } })).toThrow('parsing time "now"');
    const nest = (open: string, close: string) =>
      JSON.parse(`${open.repeat(50_000)}{}${close.repeat(50_000)}`) as unknown;
    const managed = { metadata: { managedFields: [{ fieldsV1: nest('[', ']') }] } };
    expect(() => decodeModel('V1Pod', managed)).toThrow('exceeded max depth');
    expect(() => decodeModel('V1JSONSchemaProps', nest('{"not":', '}'))).toThrow('exceeded max depth');
  });
});

test('keeps __proto__ as data of maps', () => {
  const body = JSON.parse('{"data":{"__proto__":"aGk="},"__proto__":{"x":1}}') as unknown;
  const { object, unknownFields } = decodeObject(secret, body);
  expect(Object.keys(object.data ?? {})).toEqual(['__proto__']);
  expect(unknownFields).toEqual(['__proto__']);
});

test('names only formats of fields that the schemas have', () => {
  const has = (name: string) => {
    const [model = '', field = ''] = name.split('.');
    return schemas[model]?.[field] !== undefined;
  };
  expect([...QUANTITY_FIELDS, ...QUANTITY_MAPS].filter((name) => !has(name))).toEqual([]);
  const names = new Set(Object.values(schemas).flatMap((fields) => Object.keys(fields)));
  expect([...INT64_FIELDS].filter((field) => !names.has(field) && !has(field))).toEqual([]);
});
