// What the server fills in and says of objects beside their faults: sources of volumes, counts of templates, warnings.
import { describe, expect, test } from 'vitest';
import { daemonSetKind } from '../../../../src/api/kinds/daemonSet.js';
import { nodeKind } from '../../../../src/api/kinds/node.js';
import { podKind } from '../../../../src/api/kinds/pod.js';
import { serviceKind } from '../../../../src/api/kinds/service.js';
import { csiStorageCapacityKind } from '../../../../src/api/kinds/storage/csi.js';
import { persistentVolumeKind } from '../../../../src/api/kinds/storage/persistentVolume.js';
import { cellsOf, create, update } from './support.js';

const SOURCES = {
  iscsi: [{ targetPortal: 't', iqn: 'q', lun: 0 }, { iscsiInterface: 'default' }],
  rbd: [
    { monitors: ['m'], image: 'i' },
    { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  ],
  azureDisk: [
    { diskName: 'd', diskURI: 'u' },
    { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
  ],
  scaleIO: [
    { gateway: 'g', system: 's', secretRef: { name: 'n' }, volumeName: 'v' },
    { storageMode: 'ThinProvisioned', fsType: 'xfs' },
  ],
} as const;

describe.each(Object.entries(SOURCES))('a volume of %s', (name, [source, filled]) => {
  test('has its defaults in a pod and in a PersistentVolume', () => {
    const pod = { spec: { containers: [], volumes: [{ name: 'v', [name]: { ...source } }] } };
    expect(create(podKind, pod)).toMatchObject({ spec: { volumes: [{ [name]: { ...source, ...filled } }] } });
    const volume = { spec: { [name]: { ...source } } };
    expect(create(persistentVolumeKind, volume)).toMatchObject({
      spec: { [name]: { ...source, ...filled } },
    });
  });
});

describe('a DaemonSet counts its templates', () => {
  const ANNOTATION = 'deprecated.daemonset.template.generation';
  const set = (image: string, annotations?: object) => ({
    metadata: { name: 'x', ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image }] } },
    },
  });
  test('from one on, or from where it was said to be', () => {
    expect(create(daemonSetKind, set('i')).metadata?.annotations).toEqual({ [ANNOTATION]: '1' });
    expect(create(daemonSetKind, set('i', { [ANNOTATION]: '7' })).metadata?.annotations).toEqual({
      [ANNOTATION]: '7',
    });
  });
  test('and only by changes of the template, whatever a client says', () => {
    const old = create(daemonSetKind, set('i'));
    const same = update(daemonSetKind, old as object, set('i', { [ANNOTATION]: '9' }));
    expect(same.metadata?.annotations).toEqual({ [ANNOTATION]: '1' });
    const changed = update(daemonSetKind, old as object, set('other'));
    expect(changed.metadata?.annotations).toEqual({ [ANNOTATION]: '2' });
  });
});

describe('a Service warns', () => {
  test.each<[object, readonly string[]]>([
    [{ clusterIP: '10.0.0.1' }, []],
    [
      { externalIPs: ['192.0.2.1'] },
      ['spec.externalIPs is deprecated and may no longer be implemented in some clusters'],
    ],
    [
      { clusterIP: 'None', externalIPs: ['192.0.2.1'] },
      ['spec.externalIPs is ignored for headless services'],
    ],
    [
      { type: 'ExternalName', externalName: 'a', externalIPs: ['192.0.2.1'] },
      ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ],
    [{ externalName: 'a' }, ['spec.externalName is ignored when spec.type is not "ExternalName"']],
    [
      { trafficDistribution: 'PreferClose' },
      ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ],
  ])('%j', (spec, sentences) => {
    expect(serviceKind.warnings?.({ spec } as never)).toEqual(sentences);
  });
});

test('a wide table shows the architecture behind the kernel, and one of room when it was written', () => {
  const nodeInfo = { kernelVersion: '6.1.0', architecture: 'amd64' };
  expect(cellsOf(nodeKind, { metadata: { name: 'n' }, status: { nodeInfo } }, 0)).toContain('6.1.0 (amd64)');
  const creationTimestamp = '2026-01-02T03:04:05Z';
  const capacity = { metadata: { name: 'c', creationTimestamp }, storageClassName: 's' };
  expect(cellsOf(csiStorageCapacityKind, capacity as never, 0)).toEqual(['c', creationTimestamp]);
});
