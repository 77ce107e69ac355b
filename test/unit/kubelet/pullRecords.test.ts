// The files of pulled images, and a puller that asks them: restarts, crashes in between, damage, and no secret on the disk.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import type { AuthConfig, Image, ImageService } from '../../../src/cri/runtime.js';
import type { VerificationPolicy } from '../../../src/kubelet/imageAccess.js';
import { ImagePuller } from '../../../src/kubelet/images.js';
import { PullRecords } from '../../../src/kubelet/pullRecords.js';
import { credentialsFor } from '../../../src/kubelet/pullSecrets.js';
import { container, podOf } from './support.js';

const IMAGE = 'registry.example.com/team/app:v1';
const ID = `sha256:${'ab'.repeat(32)}`;
const PASSWORD = 'correct-horse';

let rootDir: string;
let time = 1_000;
beforeEach(() => {
  rootDir = mkdtempSync(path.join(tmpdir(), 'trellis-records-'));
});
afterEach(() => rmSync(rootDir, { recursive: true, force: true }));

const open = (policy: VerificationPolicy = 'NeverVerifyPreloadedImages') =>
  PullRecords.open({
    config: {
      rootDir,
      imagePullCredentialsVerificationPolicy: policy,
      preloadedImagesVerificationAllowlist: [],
    },
    log: silentLog,
    now: () => ++time,
  });
const files = (name: 'pulled' | 'pulling') =>
  readdirSync(path.join(rootDir, 'image_manager', name)).map((file) =>
    path.join(rootDir, 'image_manager', name, file),
  );
const secretOf = (uid: string, password: string) =>
  credentialsFor(IMAGE, [
    {
      metadata: { uid, namespace: 'shop', name: 'pull' },
      type: 'kubernetes.io/dockerconfigjson',
      data: {
        '.dockerconfigjson': Buffer.from(
          JSON.stringify({ auths: { 'registry.example.com': { username: 'me', password } } }),
        ).toString('base64'),
      },
    },
  ]);
const OWN = secretOf('u1', PASSWORD);
const [CREDENTIAL] = OWN;

/** A runtime with one image, and a registry that takes one password. */
class Registry implements Pick<ImageService, 'imageStatus' | 'pullImage'> {
  readonly asked: (AuthConfig | undefined)[] = [];
  present = false;
  duringPull: () => void = () => {};
  async imageStatus(): Promise<Image | undefined> {
    const image = { id: ID, repoTags: [IMAGE], repoDigests: [], size: 1, username: '', pinned: false };
    return this.present ? image : undefined;
  }
  async pullImage(_: string, auth?: AuthConfig): Promise<string> {
    this.asked.push(auth);
    this.duringPull();
    if (auth?.password !== PASSWORD) throw new Error('unauthorized');
    this.present = true;
    return ID;
  }
}

const pullerOf = (records: PullRecords, registry: Registry) => {
  const images = registry as unknown as ImageService;
  const puller = new ImagePuller({
    images,
    records,
    now: () => time,
    maxParallel: 1,
    events: { event: () => {} },
  });
  return (uid: string, imagePullPolicy: string, pullSecrets = OWN) =>
    puller.ensureImage(podOf({}, { uid }), container('web', { image: IMAGE, imagePullPolicy }), {
      pullSecrets,
    });
};

test('a pod without the secret gets the image neither with IfNotPresent nor with Never, also after a restart', async () => {
  const registry = new Registry();
  await pullerOf(await open(), registry)('a', 'IfNotPresent');
  const ensure = pullerOf(await open(), registry);
  await expect(ensure('b', 'IfNotPresent', [])).rejects.toMatchObject({ reason: 'ErrImagePull' });
  await expect(ensure('c', 'Never', [])).rejects.toMatchObject({ reason: 'ErrImageNeverPull' });
  await expect(ensure('d', 'Never', secretOf('u2', 'wrong'))).rejects.toMatchObject({
    reason: 'ErrImageNeverPull',
  });
  expect(registry.asked).toHaveLength(2);
  expect(await ensure('e', 'Never')).toMatchObject({ imageRef: ID });
  expect(await ensure('f', 'IfNotPresent', secretOf('u2', PASSWORD))).toMatchObject({ imageRef: ID });
  expect(registry.asked).toHaveLength(2);
});

test('what somebody else put on the node serves all by default, and none without proof under AlwaysVerify', async () => {
  const registry = new Registry();
  registry.present = true;
  expect(await pullerOf(await open(), registry)('a', 'Never', [])).toMatchObject({ imageRef: ID });
  const strict = pullerOf(await open('AlwaysVerify'), registry);
  await expect(strict('b', 'Never', [])).rejects.toMatchObject({ reason: 'ErrImageNeverPull' });
  await strict('c', 'IfNotPresent');
  expect(registry.asked).toHaveLength(1);
  expect(await strict('d', 'Never')).toMatchObject({ imageRef: ID });
});

test('the intent is on the disk while the pull lasts, then the record, with a hash and no credential', async () => {
  const registry = new Registry();
  const during: string[] = [];
  registry.duringPull = () => during.push(...files('pulling').map((file) => readFileSync(file, 'utf8')));
  await pullerOf(await open(), registry)('a', 'IfNotPresent');
  expect(during.map((text) => JSON.parse(text))).toEqual([
    { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'ImagePullIntent', image: IMAGE },
  ]);
  expect(files('pulling')).toEqual([]);
  const [file = ''] = files('pulled');
  const text = readFileSync(file, 'utf8');
  expect(JSON.parse(text)).toMatchObject({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'ImagePulledRecord',
    imageRef: ID,
    credentialMapping: { 'registry.example.com/team/app': { kubernetesSecrets: [CREDENTIAL?.secret] } },
  });
  for (const word of [PASSWORD, Buffer.from(PASSWORD).toString('base64'), `me:${PASSWORD}`])
    expect(text).not.toContain(word);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
});

test('a pull that fails leaves nothing; one of two that ends leaves the intent to the other', async () => {
  const records = await open();
  await expect(pullerOf(records, new Registry())('a', 'Always', [])).rejects.toThrow('unauthorized');
  expect(files('pulling')).toEqual([]);
  await Promise.all([records.intend(IMAGE), records.intend(IMAGE)]);
  await records.failed(IMAGE);
  expect(files('pulling')).toHaveLength(1);
  expect(await records.mayUse(IMAGE, ID, [])).toBe(false);
  await records.failed(IMAGE);
  expect(files('pulling')).toEqual([]);
  expect(await records.mayUse(IMAGE, ID, [])).toBe(true);
});

test('an image whose pull a crash interrupted is not taken for preloaded, under any of its names', async () => {
  await (await open()).intend(IMAGE);
  const registry = new Registry();
  registry.present = true;
  const records = await open();
  expect(await records.mayUse(IMAGE, ID, [])).toBe(false);
  expect(await records.mayUse('registry.example.com/team/app:v2', ID, [])).toBe(true);
  await records.settle(registry);
  expect(files('pulling')).toEqual([]);
  for (const again of [records, await open()])
    for (const image of [IMAGE, 'registry.example.com/team/app:v2'])
      expect(await again.mayUse(image, ID, OWN)).toBe(false);
});

test('a damaged record is no way in', async () => {
  const registry = new Registry();
  await pullerOf(await open(), registry)('a', 'IfNotPresent');
  const [file = ''] = files('pulled');
  for (const text of ['', '{', 'null', '{"kind":"ImagePulledRecord","imageRef":"sha256:other"}']) {
    writeFileSync(file, text);
    expect(await (await open()).mayUse(IMAGE, ID, OWN)).toBe(false);
  }
  const whole = { kind: 'ImagePulledRecord', imageRef: ID };
  const credentialMapping = { 'registry.example.com/team/app': { kubernetesSecrets: [null] } };
  writeFileSync(file, JSON.stringify({ ...whole, credentialMapping }));
  expect(await (await open()).mayUse(IMAGE, ID, OWN)).toBe(false);
  const ensure = pullerOf(await open(), registry);
  await ensure('b', 'IfNotPresent');
  expect(await (await open()).mayUse(IMAGE, ID, OWN)).toBe(true);
});

test('changed credentials of a known secret are kept', async () => {
  const registry = new Registry();
  const records = await open();
  await pullerOf(records, registry)('a', 'IfNotPresent');
  expect(await records.mayUse(IMAGE, ID, secretOf('u1', 'new'))).toBe(true);
  expect(await (await open()).mayUse(IMAGE, ID, secretOf('u5', 'new'))).toBe(true);
});

test('records of images that are gone go, unless a pull came after the list was asked for', async () => {
  const records = await open();
  await records.intend(IMAGE);
  await records.pulled(IMAGE, ID, CREDENTIAL);
  const listedAt = ++time;
  await records.prune([ID], listedAt);
  expect(files('pulled')).toHaveLength(1);
  await records.intend(IMAGE);
  await records.pulled(IMAGE, ID, CREDENTIAL);
  await records.prune([], listedAt);
  expect(files('pulled')).toHaveLength(1);
  await records.prune([], ++time);
  expect(files('pulled')).toEqual([]);
  expect(await records.mayUse(IMAGE, ID, [])).toBe(true);
});

test('a pull that cannot be put on record is not begun', async () => {
  const registry = new Registry();
  const records = await open();
  rmSync(path.join(rootDir, 'image_manager'), { recursive: true });
  await expect(pullerOf(records, registry)('a', 'IfNotPresent')).rejects.toMatchObject({
    reason: 'ErrImagePull',
  });
  expect(registry.asked).toEqual([]);
});

test('an image that came but cannot be inspected is on record all the same', async () => {
  const registry = new Registry();
  const records = await open();
  const ensure = pullerOf(records, registry);
  registry.duringPull = () => {
    registry.imageStatus = () => Promise.reject(new Error('busy'));
  };
  await expect(ensure('a', 'IfNotPresent')).rejects.toMatchObject({ reason: 'ErrImagePull' });
  expect(await records.mayUse(IMAGE, ID, [])).toBe(false);
});
