import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiError } from '../../../../src/api/status.js';
import type { Client } from '../../../../src/client/client.js';
import { setUpClaim } from '../../../../src/kubelet/volumes/claim.js';
import { nfsSource } from '../../../../src/kubelet/volumes/nfs.js';
import { podOf } from '../support.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'trellis-claim-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const claimPath = '/api/v1/namespaces/default/persistentvolumeclaims/data';
const bound = { metadata: { uid: 'c1' }, spec: { volumeName: 'disk' }, status: { phase: 'Bound' } };
const volume = (spec: object) => ({ metadata: { name: 'disk' }, spec: { claimRef: { uid: 'c1' }, ...spec } });
const clientWith = (objects: Record<string, object>): Client =>
  ({
    raw: async (_: string, at: string) => {
      if (objects[at] === undefined)
        throw new ApiError({
          kind: 'Status',
          apiVersion: 'v1',
          status: 'Failure',
          reason: 'NotFound',
          code: 404,
        } as never);
      return objects[at];
    },
  }) as unknown as Client;
const setUp = (objects: Record<string, object>, own = async (_dir: string) => {}, isOfPod = false) =>
  setUpClaim({
    isOfPod,
    client: clientWith(objects),
    pod: podOf(),
    claimName: 'data',
    own,
    node: () => ({ name: 'node-1', labels: { zone: 'a' } }),
    nfsDir: path.join(directory, 'nfs'),
  });
const withVolume = (spec: object) => ({ [claimPath]: bound, '/api/v1/persistentvolumes/disk': volume(spec) });

const zone = (value: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [value] }] }] },
});

describe('a claim', () => {
  test('a local volume and one of the host are paths', async () => {
    expect(await setUp(withVolume({ local: { path: directory }, nodeAffinity: zone('a') }))).toBe(directory);
    expect(await setUp(withVolume({ hostPath: { path: directory, type: 'Directory' } }))).toBe(directory);
  });

  test.each([
    ['a claim that is not there', {}, 'persistentvolumeclaim "data" not found'],
    [
      'one that waits',
      { [claimPath]: { ...bound, status: { phase: 'Pending' } } },
      'PVC default/data is not bound',
    ],
    ['a volume that is gone', { [claimPath]: bound }, 'failed to fetch PV disk'],
    [
      "another claim's volume",
      withVolume({ claimRef: { uid: 'c2' }, local: { path: '/' } }),
      'bound to another claim',
    ],
    ['a path that leaves', withVolume({ local: { path: '/tmp/../etc' } }), "must not contain '..'"],
    [
      'a path that is not there',
      withVolume({ local: { path: '/nonexistent' } }),
      'path "/nonexistent" does not exist',
    ],
    ['a kind from elsewhere', withVolume({ rbd: { image: 'a' } }), 'neither local nor hostPath nor nfs'],
    [
      'a volume of another node',
      withVolume({ local: { path: '/' }, nodeAffinity: zone('b') }),
      'MountVolume.NodeAffinity check failed for volume "disk" : no matching NodeSelectorTerms',
    ],
    ['a path of NFS that is none', withVolume({ nfs: { server: 'a', path: 'x' } }), 'is not absolute'],
    ['an option as a server', withVolume({ nfs: { server: '-osuid', path: '/' } }), 'neither a name nor'],
  ])('%s waits with its reason', async (_, objects, words) => {
    await expect(setUp(objects)).rejects.toThrow(words);
  });

  test('of an ephemeral volume is taken only where the pod owns it', async () => {
    const words = `PVC default/data was not created for pod default/${podOf().metadata.name} (pod is not owner)`;
    const objects = withVolume({ hostPath: { path: directory } });
    await expect(setUp(objects, undefined, true)).rejects.toThrow(words);
    const { uid } = podOf().metadata;
    const owned = { uid: 'c1', ownerReferences: [{ kind: 'Pod', uid, controller: true }] };
    const ofPod = { ...objects, [claimPath]: { ...bound, metadata: owned } };
    expect(await setUp(ofPod, undefined, true)).toBe(directory);
  });

  test('a local volume is given to the group, one of the host is not', async () => {
    const owned: string[] = [];
    const own = async (dir: string) => void owned.push(dir);
    await setUp(withVolume({ local: { path: directory } }), own);
    await setUp(withVolume({ hostPath: { path: directory } }), own);
    expect(owned).toEqual([directory]);
  });
});

test.each([
  [{ server: 'files.example', path: '/srv' }, 'files.example:/srv'],
  [{ server: '10.0.0.1', path: '/' }, '10.0.0.1:/'],
  [{ server: 'fd00::1', path: '/srv' }, '[fd00::1]:/srv'],
])('the source of %j is %s', (source, expected) => {
  expect(nfsSource(source)).toBe(expected);
});
