import { describe, expect, test } from 'vitest';
import { parseManifest } from '../../../src/kubelet/sources/manifest.js';

const source = { file: '/etc/kubernetes/manifests/web.yaml', nodeName: 'node-1', now: 0 };
const parse = (text: string) => parseManifest(text, source);
const yaml = (metadata: string, spec: string) =>
  `apiVersion: v1\nkind: Pod\nmetadata: ${metadata}\nspec: ${spec}\n`;
const containers = '{containers: [{name: web, image: "busybox:1"}]}';

describe('static pods from manifests', () => {
  test('a pod gets the name of its node, a uid and the marks of its source', () => {
    const { metadata, spec } = parse(yaml('{name: web, labels: {app: web}}', containers));
    expect(metadata).toMatchObject({ name: 'web-node-1', namespace: 'default', labels: { app: 'web' } });
    expect(metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(metadata.annotations).toEqual({
      'kubernetes.io/config.hash': metadata.uid,
      'kubernetes.io/config.seen': '1970-01-01T00:00:00.000Z',
      'kubernetes.io/config.source': 'file',
    });
    expect(spec).toMatchObject({ nodeName: 'node-1', restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
    expect(spec.containers[0]).toMatchObject({ imagePullPolicy: 'IfNotPresent' });
  });

  test('the same text gives the same uid, another text another', () => {
    const [one, two, other] = [containers, containers, containers.replace(':1', ':2')].map(
      (spec) => parse(yaml('{name: web}', spec)).metadata.uid,
    );
    expect(one).toBe(two);
    expect(one).not.toBe(other);
  });

  test('a manifest cannot say that it is being deleted, nor choose its uid', () => {
    const { metadata } = parse(
      yaml(
        '{name: web, uid: "../../etc", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a.b/c]}',
        containers,
      ),
    );
    expect(metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata).not.toHaveProperty('finalizers');
  });

  test.each([
    ['no YAML', 'a: b: c', /web\.yaml: /],
    ['another kind', 'apiVersion: apps/v1\nkind: Deployment\n', /web\.yaml: apiVersion: must be v1/],
    ['a list', '[]', /web\.yaml: is not an object/],
    ['no name', yaml('{}', containers), /metadata\.name/],
    ['a name that climbs', yaml('{name: "../../etc"}', containers), /metadata\.name/],
    ['a namespace that climbs', yaml('{name: web, namespace: "../x"}', containers), /metadata\.namespace/],
    ['no containers', yaml('{name: web}', '{containers: []}'), /spec\.containers/],
    [
      'a container name that climbs',
      yaml('{name: web}', '{containers: [{name: "..", image: a}]}'),
      /spec\.containers\[0\]\.name/,
    ],
    [
      'an unknown field',
      yaml('{name: web}', '{containers: [{name: a, image: b}], hostnetwork: true}'),
      /spec\.hostnetwork/,
    ],
    ['a wrong type', yaml('{name: web}', '{containers: [{name: a, image: b, command: ls}]}'), /command/],
    [
      'a secret',
      yaml(
        '{name: web}',
        '{containers: [{name: a, image: b}], volumes: [{name: s, secret: {secretName: s}}]}',
      ),
      /spec\.volumes\[0\]\.secret/,
    ],
  ])('%s is refused with file and field', (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
    expect(() => parse(text)).toThrow('/etc/kubernetes/manifests/web.yaml');
  });

  test('a bomb of aliases is refused', () => {
    const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let level = 1; level < 9; level++)
      lines.push(
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(',')}]`,
      );
    expect(() => parse(lines.join('\n'))).toThrow(/alias/i);
  });
});
