// The pod of these benchmarks: with its status about 2.4 kB, as pods of a running cluster are.

const PROBE = { httpGet: { path: '/healthz', port: 'http' }, initialDelaySeconds: 5, periodSeconds: 10 };

export function podBody(name: string): Buffer {
  const labels = { app: 'web', 'pod-template-hash': '5d59d67564', tier: 'frontend' };
  return Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels, annotations: { 'example.com/description': 'x'.repeat(300) } },
      spec: {
        containers: [
          {
            name: 'web',
            image: 'registry.example.com/library/web:1.25.3',
            ports: [{ name: 'http', containerPort: 8080 }],
            env: Array.from({ length: 8 }, (_, i) => ({
              name: `SETTING_${i}`,
              value: `value of setting ${i}`,
            })),
            resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '256Mi' } },
            readinessProbe: PROBE,
            livenessProbe: PROBE,
            volumeMounts: [{ name: 'cache', mountPath: '/var/cache/web' }],
          },
        ],
        volumes: [{ name: 'cache', emptyDir: {} }],
        nodeSelector: { 'kubernetes.io/os': 'linux' },
      },
    }),
  );
}

export const PODS = '/api/v1/namespaces/default/pods';
