// The pod of these benchmarks: about 2.4 kB as it is answered, managed fields and status included. Five thousand of them
// are a list of 12 MB.

export function podBody(name: string): Buffer {
  const labels = { app: 'web', 'pod-template-hash': '5d59d67564' };
  return Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: {
        containers: [
          {
            name: 'web',
            image: 'registry.example.com/library/web:1.25.3',
            ports: [{ name: 'http', containerPort: 8080 }],
            env: [{ name: 'SETTING', value: 'value of the setting' }],
            resources: { requests: { cpu: '100m', memory: '128Mi' } },
          },
        ],
      },
    }),
  );
}

export const PODS = '/api/v1/namespaces/default/pods';
