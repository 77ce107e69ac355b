// The worked example of docs/extending.md: objects in two versions, turned into one another by an HTTPS server in a pod.
// Only the image differs: the program runs by this machine's own Node.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { describeWith } from '../support/requires.js';
import { answerOf, eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = {
  root: true,
  tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter', 'openssl'],
};
const EXAMPLE = path.join(import.meta.dirname, '../../docs/examples/conversion');
const V1 = 'backups.v1.example.com';
const V2 = 'backups.v2.example.com';

const example = (name: string) => readFileSync(path.join(EXAMPLE, name), 'utf8');

/** What a program of this machine needs of its file system. */
const PROGRAM = process.execPath;
const OWN = [...new Set(['/usr', '/lib', '/lib64', path.dirname(PROGRAM)])].filter(
  (folder, _, all) => !all.some((other) => folder.startsWith(`${other}/`)),
);

function converterOfThisMachine(): string {
  return parseAllDocuments(example('converter.yaml'))
    .map((document) => {
      const object = document.toJS();
      if (object.kind !== 'Deployment') return stringify(object);
      const { spec } = object.spec.template;
      const [container] = spec.containers;
      container.image = 'trellis.local/busybox';
      container.command[0] = PROGRAM;
      spec.terminationGracePeriodSeconds = 0;
      OWN.forEach((folder, i) => {
        spec.volumes.push({ name: `own${i}`, hostPath: { path: folder } });
        container.volumeMounts.push({ name: `own${i}`, mountPath: folder, readOnly: true });
      });
      return stringify(object);
    })
    .join('---\n');
}

describeWith(NEEDS, 'a conversion webhook in a pod', () => {
  let cluster: TestCluster;
  let definition: string;

  beforeAll(async () => {
    cluster = await TestCluster.make();
    const started = await cluster.trellis('up', '--detach', '--timeout', '90');
    expect(started, started.stderr).toMatchObject({ code: 0 });
    const file = (name: string) => path.join(path.dirname(cluster.dataDir), name);
    const [key, cert] = [file('tls.key'), file('tls.crt')];
    const made = await answerOf('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '365',
      '-subj',
      '/CN=converter',
      '-addext',
      'subjectAltName=DNS:converter.default.svc',
      '-keyout',
      key,
      '-out',
      cert,
    ]);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    await cluster.kubectl('create', 'secret', 'tls', 'converter', `--cert=${cert}`, `--key=${key}`);
    definition = example('definition.yaml').replace('CA_BUNDLE', readFileSync(cert).toString('base64'));
    for (const [name, text] of [
      ['definition.yaml', definition],
      ['converter.yaml', converterOfThisMachine()],
      ['backup.yaml', example('backup.yaml')],
    ] as const)
      writeFileSync(file(name), text);
    await cluster.kubectl('apply', '-f', file('converter.yaml'));
    await cluster.kubectl('rollout', 'status', 'deployment/converter', '--timeout=90s');
    await cluster.kubectl('apply', '-f', file('definition.yaml'));
    await cluster.kubectl('wait', '--for=condition=Established', 'crd/backups.example.com');
    await eventually(
      () => cluster.kubectl('apply', '-f', file('backup.yaml')),
      (said) => said.includes('nightly'),
    );
  }, 180_000);
  afterAll(() => cluster?.remove(), 60_000);

  const field = async (resource: string, jsonPath: string) =>
    (await cluster.kubectl('get', resource, 'nightly', '-o', `jsonpath={${jsonPath}}`)).trim();
  const patchDefinition = (patch: readonly object[]) =>
    cluster.kubectl('patch', 'crd', 'backups.example.com', '--type=json', '-p', JSON.stringify(patch));
  const apply = (manager: string, version: string, spec: object, ...more: string[]) =>
    cluster.kubectlOf(
      JSON.stringify({ ...backup, apiVersion: `example.com/${version}`, spec }),
      'apply',
      '--server-side',
      `--field-manager=${manager}`,
      ...more,
      '-f',
      '-',
    );
  const backup = { kind: 'Backup', metadata: { name: 'nightly', namespace: 'default' } };

  test('kubectl shows and watches one object in both versions', async () => {
    expect(await field(V1, '.spec')).toBe('{"keep":7,"volumes":"data,logs"}');
    expect(await field(V2, '.spec')).toBe('{"claims":["data","logs"],"keep":7}');
    expect(await cluster.kubectl('get', V1)).toMatch(/NAME +VOLUMES\nnightly +data,logs/);
    expect(await cluster.kubectl('get', V2)).toMatch(/NAME +FIRST\nnightly +data/);
    const watches = [V1, V2].map((resource) =>
      cluster.follow('get', resource, '--watch', '-o', 'jsonpath={.spec}{"\\n"}'),
    );
    try {
      await eventually(
        async () => watches.map((watch) => watch.said()),
        (said) => said.every((text) => text.includes('logs')),
      );
      await cluster.kubectl('patch', V2, 'nightly', '--type=merge', '-p', '{"spec":{"claims":["more"]}}');
      await eventually(
        async () => watches.map((watch) => watch.said()),
        ([v1, v2]) => v1?.includes('"volumes":"more"') === true && v2?.includes('"claims":["more"]') === true,
      );
    } finally {
      await Promise.all(watches.map((watch) => watch.stop()));
    }
  }, 120_000);

  test('what is applied in one version is kept from who applies in the other', async () => {
    const first = await apply('first', 'v2', { claims: ['data'], keep: 3 }, '--force-conflicts');
    expect(first, first.stderr).toMatchObject({ code: 0 });
    const other = await apply('second', 'v1', { volumes: 'data', keep: 5 });
    expect(other.stderr).toMatch(/conflict with "first": \.spec\.keep/);
    const forced = await apply('second', 'v1', { volumes: 'data', keep: 5 }, '--force-conflicts');
    expect(forced, forced.stderr).toMatchObject({ code: 0 });
    expect(await field(V2, '.spec.keep')).toBe('5');
  }, 60_000);

  test('objects move to another storage version by being written again, and then need no webhook', async () => {
    const storage = [false, true].map((isStored, i) => ({
      op: 'replace',
      path: `/spec/versions/${i}/storage`,
      value: isStored,
    }));
    await patchDefinition(storage);
    const stored = () =>
      cluster.kubectl('get', 'crd', 'backups.example.com', '-o', 'jsonpath={.status.storedVersions}');
    await eventually(stored, (versions) => versions === '["v1","v2"]');
    const all = await cluster.kubectl('get', V2, '--all-namespaces', '-o', 'json');
    const replaced = await cluster.kubectlOf(all, 'replace', '-f', '-');
    expect(replaced, replaced.stderr).toMatchObject({ code: 0 });
    const status = '{"status":{"storedVersions":["v2"]}}';
    await cluster.kubectl(
      'patch',
      'crd',
      'backups.example.com',
      '--subresource=status',
      '--type=merge',
      '-p',
      status,
    );
    await cluster.kubectl('scale', 'deployment/converter', '--replicas=0');
    await eventually(
      () =>
        cluster.kubectl('get', 'endpointslices', '-l', 'kubernetes.io/service-name=converter', '-o', 'json'),
      (slices) => !slices.includes('"addresses"'),
    );
    expect(await field(V2, '.spec.claims')).toBe('["data"]');
    // Answers are kept for some seconds.
    const refused = await eventually(
      () => cluster.trellis('kubectl', 'get', V1, 'nightly'),
      ({ code }) => code !== 0,
    );
    expect(refused.stderr).toContain(
      'conversion webhook for example.com/v2, Kind=Backup failed: Post "https://converter.default.svc:443/convert?timeout=30s": no endpoints available for service "converter"',
    );
    const dropped = [
      { op: 'replace', path: '/spec/conversion', value: { strategy: 'None' } },
      { op: 'remove', path: '/spec/versions/0' },
    ];
    await patchDefinition(dropped);
    expect(await field('backups.example.com', '.spec')).toBe('{"claims":["data"],"keep":5}');
  }, 120_000);
});
