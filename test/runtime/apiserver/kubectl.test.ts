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
    // Newer ones say from where.
    expect(await ok('delete', 'cm', 'c', '-n', 'n')).toMatch(/^configmap "c" deleted( from n namespace)?\n$/);
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

  // Not through kubectl: older ones do not ask the server to be strict.
  test('the server refuses an unknown field when it is asked to be strict, and warns otherwise', async () => {
    const post = (validation: string) =>
      api.transport.request({
        method: 'POST',
        path: `/api/v1/namespaces/n/configmaps?fieldValidation=${validation}`,
        body: JSON.stringify({ metadata: { name: 'w' }, wrong: 1 }),
      });
    expect((await post('Strict')).status).toBe(400);
    expect((await kubectl('get', 'cm', 'w', '-n', 'n')).stderr).toBe(
      'Error from server (NotFound): configmaps "w" not found\n',
    );
    const warned = await post('Warn');
    expect(warned.status).toBe(201);
    expect(warned.headers['warning']).toBe('299 - "unknown field \\"wrong\\""');
  });

  test('makes, scales and exposes a deployment', async () => {
    expect(
      await ok('create', 'deployment', 'web', '-n', 'n', '--image=x', '--replicas=2', '--', 'httpd', '-f'),
    ).toBe('deployment.apps/web created\n');
    expect(await ok('scale', 'deployment', 'web', '-n', 'n', '--replicas=0')).toBe(
      'deployment.apps/web scaled\n',
    );
    expect(
      await ok(
        'get',
        'deployment',
        'web',
        '-n',
        'n',
        '-o',
        'jsonpath={.spec.replicas}/{.metadata.generation}',
      ),
    ).toBe('0/2');
    expect(await ok('get', 'deployment', 'web', '-n', 'n', '-o', 'jsonpath={..command}')).toBe(
      '["httpd","-f"]',
    );
    expect(await ok('expose', 'deployment', 'web', '-n', 'n', '--port=80')).toBe('service/web exposed\n');
    expect(await ok('rollout', 'restart', 'deployment', 'web', '-n', 'n')).toBe(
      'deployment.apps/web restarted\n',
    );
  });

  test('follows changes with get -w, as rows', async () => {
    await ok('run', 'first', '-n', 'n', '--image=x');
    const watching = kubectl.spawn('get', 'pods', '-n', 'n', '-w');
    const lines: string[] = [];
    const seen = new Promise<void>((done) => {
      let rest = '';
      watching.stdout?.on('data', (data: Buffer) => {
        const parts = `${rest}${data}`.split('\n');
        rest = parts.pop() ?? '';
        lines.push(...parts);
        if (lines.length === 2) void kubectl('run', 'second', '-n', 'n', '--image=x');
        if (lines.length >= 3) done();
      });
    });
    await seen;
    watching.kill();
    expect(lines.map((line) => line.split(/ +/)[0])).toEqual(['NAME', 'first', 'second']);
  });

  test('refuses a second object of the same name and a stale replacement', async () => {
    expect((await kubectl('create', 'namespace', 'n')).stderr).toBe(
      'Error from server (AlreadyExists): namespaces "n" already exists\n',
    );
    const stale = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm', namespace: 'n', resourceVersion: '1' },
    });
    expect((await kubectl.input(stale, 'replace', '-f', '-')).stderr).toContain(
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  });
});
