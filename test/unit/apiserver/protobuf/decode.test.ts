// Protobuf bodies as Go clients send them, written here by hand from the wire format.
import { describe, expect, test } from 'vitest';
import { schemas } from '../../../../src/api/gen/schemas.js';
import { decodeProtobuf } from '../../../../src/apiserver/protobuf/decode.js';
import { fieldNumbers } from '../../../../src/apiserver/protobuf/fieldNumbers.js';

const bytes = (number: number, value: Buffer | string) => {
  const content = Buffer.from(value as string);
  return Buffer.concat([Buffer.from([number * 8 + 2, content.length]), content]);
};
const integer = (number: number, value: number) => Buffer.from([number * 8, value]);
const join = (...parts: Buffer[]) => Buffer.concat(parts);

function envelope(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const type = join(bytes(1, apiVersion), bytes(2, kind));
  return join(Buffer.from('k8s\0'), bytes(1, type), bytes(2, raw), bytes(3, ''), bytes(4, ''));
}

describe('a protobuf body', () => {
  test('becomes the JSON it stands for, without what Go did not set', () => {
    const meta = join(
      bytes(1, 'web'),
      bytes(2, ''),
      integer(7, 0),
      bytes(8, ''),
      bytes(11, join(bytes(1, 'a'), bytes(2, 'b'))),
    );
    const spec = join(integer(1, 0), bytes(4, ''), integer(5, 0));
    expect(decodeProtobuf(envelope('apps/v1', 'Deployment', join(bytes(1, meta), bytes(2, spec))))).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', labels: { a: 'b' } },
      spec: { replicas: 0, strategy: {} },
    });
  });

  test('may hold times, int-or-strings and parts of the message around them', () => {
    const volume = join(bytes(1, 'v'), bytes(2, bytes(1, bytes(1, '/host'))));
    const pod = join(bytes(1, bytes(8, integer(1, 1))), bytes(2, bytes(1, volume)));
    expect(decodeProtobuf(envelope('v1', 'Pod', pod))).toMatchObject({
      metadata: { creationTimestamp: '1970-01-01T00:00:01Z' },
      spec: { volumes: [{ name: 'v', hostPath: { path: '/host' } }] },
    });
    const port = bytes(1, bytes(4, join(integer(1, 1), bytes(3, 'http'))));
    expect(decodeProtobuf(envelope('v1', 'Service', bytes(2, port)))).toMatchObject({
      spec: { ports: [{ targetPort: 'http' }] },
    });
  });

  test('may hold what only later versions have: the message about a device that is not healthy', () => {
    const health = join(bytes(1, 'gpu-0'), bytes(2, 'Unhealthy'), bytes(6, 'ECC error'));
    const status = bytes(8, bytes(14, join(bytes(1, 'claim:gpu'), bytes(2, health))));
    const pod = bytes(3, status);
    expect(decodeProtobuf(envelope('v1', 'Pod', pod))).toMatchObject({
      status: {
        containerStatuses: [
          {
            allocatedResourcesStatus: [
              {
                name: 'claim:gpu',
                resources: [{ resourceID: 'gpu-0', health: 'Unhealthy', message: 'ECC error' }],
              },
            ],
          },
        ],
      },
    });
  });

  test('keeps a zero where Go has a pointer or must write it, and nowhere else', () => {
    const container = join(Buffer.from([0x80, 1, 0]), bytes(15, integer(2, 0)), bytes(6, integer(2, 0)));
    const pod = bytes(2, join(bytes(2, container), integer(4, 0), integer(11, 0)));
    expect(decodeProtobuf(envelope('v1', 'Pod', pod))).toMatchObject({
      spec: {
        containers: [{ securityContext: { privileged: false }, ports: [{}] }],
        terminationGracePeriodSeconds: 0,
      },
    });
    expect(JSON.stringify(decodeProtobuf(envelope('v1', 'Pod', pod)))).not.toMatch(
      /stdin|hostPort|hostNetwork/,
    );
    const claim = bytes(2, bytes(5, ''));
    expect(decodeProtobuf(envelope('v1', 'PersistentVolumeClaim', claim))).toMatchObject({
      spec: { storageClassName: '' },
    });
  });

  test('refuses a field number that is not known, by message and number', () => {
    const spec = Buffer.concat([Buffer.from([0xd8, 0x3e]), Buffer.from([1])]);
    expect(() => decodeProtobuf(envelope('v1', 'Pod', bytes(2, spec)))).toThrow(
      'message V1PodSpec has no known field number 1003',
    );
  });

  test('takes the empty clusterName of older clients', () => {
    const meta = bytes(1, join(bytes(1, 'n'), bytes(15, '')));
    expect(decodeProtobuf(envelope('v1', 'Namespace', meta))).toMatchObject({ metadata: { name: 'n' } });
  });

  test('keeps a label called __proto__ as data', () => {
    const label = join(bytes(1, '__proto__'), bytes(2, 'x'));
    const decoded = decodeProtobuf(envelope('v1', 'Namespace', bytes(1, bytes(11, label)))) as {
      metadata: { labels: object };
    };
    expect(Object.keys(decoded.metadata.labels)).toEqual(['__proto__']);
  });

  const good = envelope('v1', 'Namespace', bytes(1, bytes(1, 'n')));
  test.each([
    ['without its head', Buffer.from('{"kind":"Pod"}')],
    ['that ends early', good.subarray(0, good.length - 6)],
    ['of an unknown kind', envelope('example.org/v1', 'Thing', Buffer.alloc(0))],
    ['with a number where a message belongs', envelope('v1', 'Namespace', integer(1, 3))],
    ['with an endless number', join(Buffer.from('k8s\0'), Buffer.alloc(40, 0xff))],
  ])('%s is refused', (_name, body) => {
    expect(() => decodeProtobuf(body)).toThrow();
  });
});

test('every numbered field is one of its schema', () => {
  const wrong: string[] = [];
  for (const [model, entries] of Object.entries(fieldNumbers)) {
    const schema = schemas[model.split('+')[0] ?? ''] ?? {};
    for (const entry of entries.split(' ')) {
      const name = entry.split('=')[0] ?? '';
      const known = name.startsWith('+') ? fieldNumbers[`${model}${name}`] : schema[name];
      if (known === undefined) wrong.push(`${model}.${name}`);
    }
  }
  expect(wrong).toEqual([]);
});
