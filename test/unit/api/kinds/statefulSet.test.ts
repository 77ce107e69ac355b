import { expect, test } from 'vitest';
import type { V1StatefulSet } from '../../../../src/api/gen/types.js';
import { statefulSetKind } from '../../../../src/api/kinds/statefulSet.js';

const set = (mount: string): V1StatefulSet => ({
  metadata: { name: 'db', namespace: 'default' },
  spec: {
    serviceName: 'db',
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate' },
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: {
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        containers: [
          {
            name: 'c',
            image: 'i',
            imagePullPolicy: 'Always',
            terminationMessagePolicy: 'File',
            volumeMounts: [{ name: mount, mountPath: '/data' }],
          },
        ],
      },
    },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
  },
});

test.each<[string, string[]]>([
  ['data', []],
  ['absent', ['spec.template.spec.containers[0].volumeMounts[0].name']],
])('a mount of %s, where the claim template is called data', (mount, fields) => {
  expect(statefulSetKind.validate?.(set(mount))?.map(({ field }) => field)).toEqual(fields);
});
