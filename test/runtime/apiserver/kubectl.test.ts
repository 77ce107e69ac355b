// The stock kubectl against the apiserver on a loopback port: what people type, and what they see.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Kubectl, openKubectl } from '../../support/kubectl.js';
import { describeWith } from '../../support/requires.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

describeWith({ tools: ['kubectl'] }, 'kubectl', () => {
  let api: TestApiServer;
  let kubectl: Kubectl;

  beforeAll(async () => {
    api = await startTestApiServer();
    kubectl = await openKubectl(api.url, api.pki.ca, api.admin);
  });
  afterAll(async () => {
    await kubectl?.close();
    await api?.close();
  });

  const ok = async (...args: readonly string[]) => {
    const result = await kubectl(...args);
    expect(result, `kubectl ${args.join(' ')}`).toMatchObject({ code: 0 });
    return result.stdout;
  };

  test('lists the resources of the server', async () => {
    expect(await ok('api-resources')).toMatch(/configmaps +cm +v1 +true +ConfigMap/);
  });

  test('creates, reads, labels, patches and deletes', async () => {
    expect(await ok('create', 'namespace', 'n')).toBe('namespace/n created\n');
    expect(await ok('create', 'configmap', 'c', '-n', 'n', '--from-literal=a=1')).toBe(
      'configmap/c created\n',
    );
    expect(await ok('get', 'configmap', 'c', '-n', 'n', '-o', 'jsonpath={.data.a}')).toBe('1');
    expect(await ok('get', 'cm', '-n', 'n')).toMatch(/^NAME +DATA +AGE\nc +1 +\d+s\n$/);
    expect(await ok('label', 'cm', 'c', '-n', 'n', 'x=y')).toBe('configmap/c labeled\n');
    expect(await ok('get', 'cm', '-A', '-l', 'x=y', '-o', 'name')).toBe('configmap/c\n');
    expect(await ok('patch', 'cm', 'c', '-n', 'n', '-p', '{"data":{"b":"2"}}')).toBe('configmap/c patched\n');
    expect(await ok('get', 'cm', 'c', '-n', 'n', '-o', 'jsonpath={.data}')).toBe('{"a":"1","b":"2"}');
    expect(await ok('delete', 'cm', 'c', '-n', 'n')).toBe('configmap "c" deleted\n');
  });

  test('applies a manifest, twice', async () => {
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm', namespace: 'n' },
      data: { a: '1' },
    });
    const first = await kubectl.input(manifest, 'apply', '-f', '-');
    expect(first).toMatchObject({ code: 0, stdout: 'configmap/m created\n' });
    const again = await kubectl.input(manifest, 'apply', '-f', '-');
    expect(again).toMatchObject({ code: 0, stdout: 'configmap/m unchanged\n' });
    const changed = await kubectl.input(manifest.replace('"1"', '"2"'), 'apply', '-f', '-');
    expect(changed).toMatchObject({ code: 0, stdout: 'configmap/m configured\n' });
  });

  test('is told of an unknown field before anything is written', async () => {
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'w', namespace: 'n' },
      wrong: 1,
    });
    const { code, stderr } = await kubectl.input(manifest, 'create', '-f', '-');
    expect(code).toBe(1);
    expect(stderr).toContain('unknown field "wrong"');
    expect((await kubectl('get', 'cm', 'w', '-n', 'n')).stderr).toBe(
      'Error from server (NotFound): configmaps "w" not found\n',
    );
  });
});
