// What a refused change shows: the objects as Kubernetes' internal types write them, and the lines that differ.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../src/api/gen/schemas.js';
import { INTERNAL_FIELDS } from '../../../src/api/internalFields.js';
import { internalDiff } from '../../../src/api/internalForm.js';
import { lineDiff } from '../../../src/api/lineDiff.js';

const container = { name: 'web', image: 'nginx', resources: { limits: { memory: '64Mi', cpu: '1' } } };
const spec = { containers: [container], nodeName: 'n', dnsPolicy: 'Default' };

test('every field is one of the schemas, and none is missing', () => {
  // What is elsewhere inside, or has no place there.
  const elsewhere = [
    'hostIPC',
    'hostNetwork',
    'hostPID',
    'hostUsers',
    'serviceAccount',
    'shareProcessNamespace',
  ];
  for (const [model, names] of Object.entries(INTERNAL_FIELDS)) {
    const fields = new Map(Object.keys(schemas[model] ?? {}).map((name) => [name.toLowerCase(), name]));
    const found = names.split(' ').map((name) => fields.get((name.split('=')[1] ?? name).toLowerCase()));
    const host = model === 'V1PodSecurityContext' ? 5 : 0;
    expect(found.filter((name) => name === undefined)).toHaveLength(host);
    const missing = [...fields.values()].filter((name) => !found.includes(name));
    const known: Record<string, string[]> = {
      V1PodSpec: elsewhere,
      V1PersistentVolumeClaimTemplate: ['metadata'],
    };
    expect(missing, model).toEqual(known[model] ?? []);
  }
});

describe('the diff of two pods', () => {
  test('has the names and the order of the internal types, empty fields too', () => {
    const changed = { ...spec, containers: [{ ...container, workingDir: '/tmp', args: ['<a>'] }] };
    expect(internalDiff('V1PodSpec', spec, changed)).toBe(`@@ -6,8 +6,10 @@
    "Name": "web",
    "Image": "nginx",
    "Command": null,
-   "Args": null,
-   "WorkingDir": "",
+   "Args": [
+    "\\u003ca\\u003e"
+   ],
+   "WorkingDir": "/tmp",
    "Ports": null,
    "EnvFrom": null,
    "Env": null,
`);
  });

  test('has what is shared with the node in the security context, which is always there', () => {
    const text = internalDiff('V1PodSpec', spec, { ...spec, hostNetwork: true });
    expect(text).toContain('  "SecurityContext": {\n-  "HostNetwork": false,\n+  "HostNetwork": true,\n');
    expect(text).toContain('   "HostPID": false,\n   "HostIPC": false,\n   "ShareProcessNamespace": null,\n');
  });

  test('shows amounts in order, and a selector by its names in JSON', () => {
    const term = (value: string) => ({
      ...spec,
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: {
            matchExpressions: [{ key: 'a', operator: 'In', values: [value] }],
            matchLabels: { b: 'c' },
          },
        },
      ],
    });
    expect(internalDiff('V1PodSpec', term('x'), term('y'))).toMatch(
      /"key": "a",\n {7}"operator": "In",\n {7}"values": \[\n- {7}"x"\n\+ {7}"y"\n/,
    );
    const more = {
      ...spec,
      containers: [{ ...container, resources: { limits: { cpu: '2', memory: '64Mi' } } }],
    };
    expect(internalDiff('V1PodSpec', spec, more)).toContain(
      '    "Resources": {\n     "Limits": {\n-     "cpu": "1",\n+     "cpu": "2",\n      "memory": "64Mi"\n',
    );
  });

  test('is left out where it would be too large to be made or read', () => {
    const large = {
      ...spec,
      containers: Array.from({ length: 1000 }, (_, at) => ({ name: `c${at}`, image: 'i' })),
    };
    expect(internalDiff('V1PodSpec', spec, large)).toBe('');
    const many = { ...spec, containers: large.containers.slice(0, 100) };
    expect(internalDiff('V1PodSpec', spec, many)).toBe('');
  });
});

describe('lines that differ', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => String(at + 1));
  const without = (list: readonly string[], ...gone: string[]) => list.filter((line) => !gone.includes(line));
  test.each<[string, readonly string[], readonly string[], string]>([
    ['nothing', numbers(9), numbers(9), ''],
    ['all of it', ['a'], ['b'], '@@ -1 +1 @@\n-a\n+b\n'],
    ['the first of none', [], ['a'], '@@ -0,0 +1 @@\n+a\n'],
    ['one left out', numbers(9), without(numbers(9), '5'), '@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n'],
    [
      'two, six lines apart',
      numbers(9),
      without(numbers(9), '1', '8'),
      '@@ -1,9 +1,7 @@\n-1\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n 9\n',
    ],
    [
      'two, seven lines apart',
      numbers(10),
      without(numbers(10), '1', '9'),
      '@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -6,5 +5,4 @@\n 6\n 7\n 8\n-9\n 10\n',
    ],
  ])('%s', (_, before, after, expected) => {
    expect(lineDiff(before, after)).toBe(expected);
  });

  test('one text becomes the other by what is shown, whatever they are', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    for (let round = 0; round < 300; round++) {
      const before = Array.from({ length: random(12) }, () => 'abc'.charAt(random(3)));
      const after = Array.from({ length: random(12) }, () => 'abc'.charAt(random(3)));
      expect(patched(before, lineDiff(before, after) ?? '')).toEqual(after);
    }
  });

  test('gives up on texts that have little in common', () => {
    expect(
      lineDiff(
        numbers(500),
        numbers(500).map((line) => `x${line}`),
      ),
    ).toBeUndefined();
  });
});

/** What `patch` makes of it. */
function patched(before: readonly string[], diff: string): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(0, -1)) {
    const [, from, count] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (from !== undefined) {
      const start = Number(from) - (count === '0' ? 0 : 1);
      result.push(...before.slice(at, start));
      at = start;
    } else if (line.startsWith('+')) result.push(line.slice(1));
    else {
      if (line.startsWith(' ')) result.push(line.slice(1));
      expect(before[at]).toBe(line.slice(1));
      at++;
    }
  }
  return [...result, ...before.slice(at)];
}
