// The data of ControllerRevisions: byte for byte what Kubernetes' own controllers write, so that either can take over.
// The expected text and hash were printed by a Go program with the types of k8s.io/api v1.36.4.
import { describe, expect, test } from 'vitest';
import type { V1PodTemplateSpec } from '../../../src/api/gen/types.js';
import { goText } from '../../../src/api/goForm.js';
import { dataOf, revisionHash } from '../../../src/controllers/revisions.js';

const TEMPLATE: V1PodTemplateSpec = {
  metadata: { labels: { tier: 'x', app: 'web' }, annotations: { note: 'a<b & c>d \u00e9 \u2028' } },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'registry/one:v1',
        command: ['sh', '-c', 'echo hi > /tmp/x && sleep 1'],
        env: [
          { name: 'EMPTY', value: '' },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'KEY', valueFrom: { configMapKeyRef: { name: 'm', key: 'k', optional: false } } },
        ],
        ports: [{ containerPort: 80, protocol: 'TCP' }],
        readinessProbe: { httpGet: { path: '/', port: 'web', scheme: 'HTTP' }, periodSeconds: 10 },
        stdin: false,
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        securityContext: {},
      },
      {
        name: 'd',
        image: 'registry/two:v1',
        resources: { limits: { cpu: '0.5', memory: '1024Mi' }, requests: { cpu: '1000m' } },
      },
    ],
    initContainers: [{ name: 'i', image: 'registry/one:v1' }],
    nodeSelector: {},
    hostNetwork: false,
    volumes: [
      { name: 'data', emptyDir: {} },
      {
        name: 'scratch',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
      },
      { name: 'all', projected: { defaultMode: 420 } },
      { name: 'cm', configMap: { name: 'm' } },
    ],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: {} } },
        ],
      },
    },
    tolerations: [{ operator: 'Exists' }],
    securityContext: {},
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 0,
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
  },
};

const WRITTEN_BY_GO = [
  '{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"note":"a\\u003cb \\u0026 c\\u00',
  '3ed é \\u2028"},"labels":{"app":"web","tier":"x"}},"spec":{"affinity":{"podAntiAffinity":{"prefer',
  'redDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"labelSelector":{},"topologyKey"',
  ':"kubernetes.io/hostname"},"weight":1}]}},"containers":[{"command":["sh","-c","echo hi \\u003e /t',
  'mp/x \\u0026\\u0026 sleep 1"],"env":[{"name":"EMPTY"},{"name":"CPU","valueFrom":{"resourceFieldRef',
  '":{"divisor":"0","resource":"limits.cpu"}}},{"name":"KEY","valueFrom":{"configMapKeyRef":{"key":',
  '"k","name":"m","optional":false}}}],"image":"registry/one:v1","name":"c","ports":[{"containerPor',
  't":80,"protocol":"TCP"}],"readinessProbe":{"httpGet":{"path":"/","port":"web","scheme":"HTTP"},"',
  'periodSeconds":10},"resources":{},"securityContext":{},"volumeMounts":[{"mountPath":"/data","nam',
  'e":"data"}]},{"image":"registry/two:v1","name":"d","resources":{"limits":{"cpu":"500m","memory":',
  '"1Gi"},"requests":{"cpu":"1"}}}],"dnsPolicy":"ClusterFirst","initContainers":[{"image":"registry',
  '/one:v1","name":"i","resources":{}}],"restartPolicy":"Always","schedulerName":"default-scheduler',
  '","securityContext":{},"terminationGracePeriodSeconds":0,"tolerations":[{"operator":"Exists"}],"',
  'volumes":[{"emptyDir":{},"name":"data"},{"ephemeral":{"volumeClaimTemplate":{"metadata":{},"spec',
  '":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}},"name":"scratch',
  '"},{"name":"all","projected":{"defaultMode":420,"sources":null}},{"configMap":{"name":"m"},"name',
  '":"cm"}]}}}}',
].join('');

describe('the data of a ControllerRevision', () => {
  test('is byte for byte what Go writes: order, escapes, quantities, what is left out and what is kept', () => {
    expect(goText(dataOf(TEMPLATE))).toBe(WRITTEN_BY_GO);
  });
  test('has the hash that a StatefulSet of Kubernetes gives it', () => {
    expect(revisionHash(dataOf(TEMPLATE), 0)).toBe('86bf49d767');
    expect(revisionHash(dataOf(TEMPLATE), 1)).not.toBe('86bf49d767');
  });
});
