// Requests that an ordinary user may send and that are meant to hold the server's thread. Pure.
// Guarantees: each is at most the 3 MiB that the server reads, and needs no more rights than `edit` in one namespace,
// or, where its name says so, the right to make definitions.
import { KINDS } from '../../src/api/kinds/index.js';
import { definitionPatches, definitionRequests, instanceRequests } from './definitions.js';
import { wideBodies } from './wideBodies.js';

export const NAMESPACE = 'hostile';

export interface HostileRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly type: string;
  /** Made when it is asked for: all of them together would be gigabytes. */
  body(): Buffer;
}

const JSON_TYPE = 'application/json';
const SIZE = 3_000_000;
/** Of a YAML text that is still read. */
const YAML_SIZE = 1_199_000;
const request = (
  name: string,
  path: string,
  text: string | Buffer,
  { method = 'POST', type = JSON_TYPE }: { method?: string; type?: string } = {},
): HostileRequest => ({ name, method, path, type, body: () => Buffer.from(text) });

const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const namespaced = (resource: string) => `/api/v1/namespaces/${NAMESPACE}/${resource}`;

const times = (count: number, part: (index: number) => string, between = ',') =>
  Array.from({ length: count }, (_, index) => part(index)).join(between);
const nested = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);

/** What no schema has to be known for. */
function shapes(): HostileRequest[] {
  const review = (extra: string) =>
    `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{},"x":${extra}}`;
  return [
    request('1.5 million nested brackets', REVIEW, nested('[', ']', SIZE / 2)),
    request('1.5 million open brackets', REVIEW, '['.repeat(SIZE / 2)),
    request('nested objects', REVIEW, review(nested('{"a":', '}', 400_000).replace('}', '0}'))),
    request('9,999 nested brackets', REVIEW, review(nested('[', ']', 9_990))),
    request('200,000 unknown fields', REVIEW, `{${times(200_000, (i) => `"k${i}":0`)}}`),
    request('31,000 unknown fields', REVIEW, `{"spec":{},${times(31_000, (i) => `"k${i}":0`)}}`),
    request('a million empty objects', REVIEW, `[${times(931_000, () => '{}')}]`),
    request('one long string', REVIEW, `{"spec":{},"a":"${'x'.repeat(SIZE - 100)}"}`),
    request('one long string of escapes', REVIEW, `{"spec":{},"a":"${'\\n'.repeat(SIZE / 2 - 100)}"}`),
    request('quotes that are escaped', REVIEW, `{"spec":{},"a":"${'\\\\\\"'.repeat(SIZE / 4 - 100)}"}`),
    request('a number of three million digits', REVIEW, `{"spec":{},"a":${'9'.repeat(SIZE - 100)}}`),
    request('the same name 31,000 times', REVIEW, `{"spec":{},${times(31_000, () => '"a":0')}}`),
  ];
}

function yaml(): HostileRequest[] {
  const type = 'application/yaml';
  const as = (name: string, text: string) =>
    request(`YAML: ${name}`, namespaced('configmaps'), text, { type });
  const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hostile}\n';
  return [
    as('nested flow lists', `${head}x: ${nested('[', ']', 200_000)}`),
    as('nested block lists', `${head}x:\n  ${'- '.repeat(400_000)}a`),
    as('many keys', `${head}data:\n${times(31_000, (i) => `  k${i}: v`, '\n')}`),
    as('18,000 keys', `${head}data:\n${times(18_000, (i) => `  k${i}: v`, '\n')}`),
    as('a plain text of 1.2 million characters', `${head}data:\n  a: ${'x '.repeat(YAML_SIZE / 2)}`),
    as('aliases', `${head}data: &a {k: v}\n${times(20_000, (i) => `x${i}: *a`, '\n')}`),
    as('anchors', `${head}data:\n${times(31_000, (i) => `  k${i}: &a${i} v`, '\n')}`),
    as('comments', `${head}${'#\n'.repeat(YAML_SIZE / 2)}`),
    as('quotes', `${head}data:\n  a: "${"''".repeat(YAML_SIZE / 2)}"`),
  ];
}

function protobuf(): HostileRequest[] {
  const type = 'application/vnd.kubernetes.protobuf';
  const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
  const length = (size: number) => {
    const bytes: number[] = [];
    for (let rest = size; ; rest = Math.floor(rest / 128)) {
      if (rest < 128) return Buffer.from([...bytes, rest]);
      bytes.push((rest % 128) | 128);
    }
  };
  const field = (number: number, value: Buffer) =>
    Buffer.concat([Buffer.from([(number << 3) | 2]), length(value.length), value]);
  const typeMeta = (kind: string) =>
    field(1, Buffer.concat([field(1, Buffer.from('v1')), field(2, Buffer.from(kind))]));
  const as = (name: string, kind: string, resource: string, raw: Buffer) =>
    request(
      `protobuf: ${name}`,
      namespaced(resource),
      Buffer.concat([magic, typeMeta(kind), field(2, raw)]),
      { type },
    );
  const containers = Buffer.concat(Array.from({ length: 31_000 }, () => field(2, Buffer.alloc(0))));
  const entries = Buffer.concat(
    Array.from({ length: 31_000 }, (_, i) =>
      field(2, Buffer.concat([field(1, Buffer.from(`k${i}`)), field(2, Buffer.from('v'))])),
    ),
  );
  const million = Buffer.concat(Array.from({ length: 1_400_000 }, () => Buffer.from([0x12, 0x00])));
  return [
    as('31,000 containers', 'Pod', 'pods', field(2, containers)),
    as('1.4 million containers', 'Pod', 'pods', field(2, million)),
    as(
      '31,000 keys',
      'ConfigMap',
      'configmaps',
      Buffer.concat([field(1, field(1, Buffer.from('hostile'))), entries]),
    ),
    as('unknown fields', 'Pod', 'pods', Buffer.alloc(2_900_000, Buffer.from([0xf8, 0x01, 0x00]))),
  ];
}

/** Against the objects that prepare() of the harness made: as large as the server takes. */
function patches(): HostileRequest[] {
  const patch = (name: string, path: string, kind: string, text: string) =>
    request(`${kind} patch: ${name}`, path, text, { method: 'PATCH', type: TYPES[kind] ?? '' });
  const config = `${namespaced('configmaps')}/large`;
  const pod = `${namespaced('pods')}/large`;
  const list = `${namespaced('configmaps')}/listed`;
  const finalizers = `[${times(20_000, (i) => `"a.b/f${20_000 - i}"`)}]`;
  const applied = (name: string, rest: string) =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"${rest}}`;
  return [
    patch(
      '7,500 additions to the front of a list',
      list,
      'json',
      `[${times(7_500, () => '{"op":"add","path":"/metadata/finalizers/0","value":"a.b/c"}')}]`,
    ),
    patch(
      '7,500 copies of everything',
      config,
      'json',
      `[${times(7_500, (i) => `{"op":"copy","from":"/data","path":"/x${i}"}`)}]`,
    ),
    patch(
      '7,500 tests of everything',
      config,
      'json',
      `[${times(7_500, () => '{"op":"test","path":"/data","value":{"a":"b"}}')}]`,
    ),
    patch(
      '60,000 operations',
      config,
      'json',
      `[${times(60_000, () => '{"op":"test","path":"","value":1}')}]`,
    ),
    patch('a deep path', config, 'json', `[{"op":"add","path":"${'/a'.repeat(1_400_000)}","value":1}]`),
    patch('31,000 keys', config, 'merge', `{"data":{${times(31_000, (i) => `"k${i}":"w"`)}}}`),
    patch('31,000 keys taken away', config, 'merge', `{"data":{${times(31_000, (i) => `"k${i}":null`)}}}`),
    patch(
      '15,500 containers',
      pod,
      'strategic',
      `{"spec":{"containers":[${times(15_500, (i) => `{"name":"c${i}"}`)}]}}`,
    ),
    patch(
      '10,000 containers taken away',
      pod,
      'strategic',
      `{"spec":{"containers":[${times(10_000, (i) => `{"name":"c${i}","$patch":"delete"}`)}]}}`,
    ),
    patch(
      'an order of 31,000',
      pod,
      'strategic',
      `{"spec":{"$setElementOrder/containers":[${times(15_500, (i) => `{"name":"c${i}"}`)}]}}`,
    ),
    patch(
      'finalizers taken from a list',
      list,
      'strategic',
      `{"metadata":{"$deleteFromPrimitiveList/finalizers":[${times(31_000, (i) => `"f${i}"`)}]}}`,
    ),
    patch(
      'a set of finalizers reversed',
      `${list}?fieldManager=a&force=true`,
      'apply',
      `${applied('listed', `,"finalizers":${finalizers}`)}}`,
    ),
    patch(
      '31,000 keys',
      `${config}?fieldManager=b&force=true`,
      'apply',
      `${applied('large', '')},"data":{${times(31_000, (i) => `"k${i}":"w"`)}}}`,
    ),
  ];
}

const TYPES: Readonly<Record<string, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** Values with a grammar of their own. */
function values(): HostileRequest[] {
  const pod = (name: string, container: string, spec = '') =>
    request(
      `value: ${name}`,
      namespaced('pods'),
      `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"hostile"},"spec":{${spec}"containers":[{"name":"a","image":"b",${container}}]}}`,
    );
  const long = 'a'.repeat(SIZE - 1000);
  const cron = (name: string, schedule: string) =>
    request(
      `value: ${name}`,
      `/apis/batch/v1/namespaces/${NAMESPACE}/cronjobs`,
      `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"hostile"},"spec":{"schedule":"${schedule}","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"b"}]}}}}}}`,
    );
  const role = (name: string, rules: string) =>
    request(
      `value: ${name}`,
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles`,
      `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"hostile"},"rules":${rules}}`,
    );
  const list = (count: number, letter: string) => `[${times(count, (i) => `"${letter}${i}"`)}]`;
  return [
    pod('a quantity of three million digits', `"resources":{"limits":{"cpu":"${'9'.repeat(SIZE - 1000)}"}}`),
    pod('a quantity with a large exponent', '"resources":{"limits":{"cpu":"1e999999999"}}'),
    pod('a quantity with a small exponent', '"resources":{"limits":{"cpu":"1e-999999999"}}'),
    pod('a long name', `"workingDir":"${long}"`),
    pod('a long image', `"imagePullPolicy":"${long}"`),
    pod('a long label', '"command":[]', `"nodeSelector":{"${long}":"a"},`),
    pod('a path of dots', `"volumeMounts":[{"name":"a","mountPath":"${'/..'.repeat(SIZE / 3 - 1000)}"}]`),
    pod('expansions', `"env":[{"name":"A","value":"${'$('.repeat(SIZE / 2 - 1000)}"}]`),
    cron('a cron line of commas', `${times(200_000, () => '1')} * * * *`),
    cron('a cron line of spaces', `${' '.repeat(SIZE / 2)}* * * * *`),
    cron('a cron line that never comes', '0 0 30 2 *'),
    role(
      'a role that multiplies out',
      `[{"verbs":${list(40, 'v')},"apiGroups":${list(40, 'g')},"resources":${list(40, 'r')},"resourceNames":${list(40, 'n')}}]`,
    ),
    role(
      'a large role that multiplies out',
      `[{"verbs":${list(7_500, 'v')},"apiGroups":${list(7_500, 'g')},"resources":${list(7_500, 'r')},"resourceNames":${list(7_500, 'n')}}]`,
    ),
    role(
      '3,500 rules',
      `[${times(3_500, (i) => `{"verbs":["get"],"apiGroups":[""],"resources":["r${i}"]}`)}]`,
    ),
    request(
      'value: CIDRs',
      `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`,
      `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"hostile"},"spec":{"podSelector":{},"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":[${times(31_000, (i) => `"10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}/32"`)}]}}]}]}}`,
    ),
  ];
}

function selectors(): HostileRequest[] {
  const get = (name: string, query: string) =>
    request(`selector: ${name}`, `${namespaced('pods')}?${query}`, '', { method: 'GET' });
  const encoded = (text: string) => encodeURIComponent(text);
  const room = 60_000;
  return [
    get('many requirements', `labelSelector=${times(room / 4, () => 'a', encoded(','))}`),
    get(
      'many values',
      `labelSelector=${encoded('a in (')}${times(room / 4, () => 'b', '%2C')}${encoded(')')}`,
    ),
    get('open brackets', `labelSelector=${encoded('a in ')}${'('.repeat(room)}`),
    get('spaces', `labelSelector=a${'+'.repeat(room)}b`),
    get('fields', `fieldSelector=${times(room / 20, () => 'metadata.name%3Da', '%2C')}`),
    get('fields and backslashes', `fieldSelector=metadata.name%3D${'\\\\'.repeat(room / 2)}`),
    get(
      'parameters',
      times(room / 4, (i) => `a${i}`, '&'),
    ),
  ];
}

function managedFields(): HostileRequest[] {
  const entry = (fields: string) =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":${fields}}]},"data":{"a":"b"}}`;
  const put = (name: string, body: string) =>
    request(`managed fields: ${name}`, `${namespaced('configmaps')}/large`, body, { method: 'PUT' });
  const many = times(
    15_000,
    (i) => `{"manager":"m${i}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}`,
  );
  return [
    put('31,000 fields', entry(`{"f:data":{${times(31_000, (i) => `"f:k${i}":{}`)}}}`)),
    put('900 levels', entry(`${'{"f:a":'.repeat(900)}{}${'}'.repeat(900)}`)),
    put('9,000 levels', entry(`${'{"f:a":'.repeat(9000)}{}${'}'.repeat(9000)}`)),
    put(
      '5,000 managers',
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","managedFields":[${many}]},"data":{"a":"b"}}`,
    ),
  ];
}

/** A kind's own collection, in the namespace where it has one. */
function wide(): HostileRequest[] {
  return KINDS.flatMap((kind) => {
    const { group, version, resource, namespaced: isNamespaced } = kind.type;
    const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const path = `${base}${isNamespaced ? `/namespaces/${NAMESPACE}` : ''}/${resource}`;
    return wideBodies(kind).map(({ name, body }) => ({
      name: `wide: ${name}`,
      method: 'POST',
      path,
      type: JSON_TYPE,
      body,
    }));
  });
}

export function corpus(): HostileRequest[] {
  return [
    ...shapes(),
    ...yaml(),
    ...protobuf(),
    ...patches(),
    ...values(),
    ...selectors(),
    ...managedFields(),
    ...definitionRequests(),
    ...definitionPatches(),
    ...instanceRequests(NAMESPACE),
    ...wide(),
  ];
}
