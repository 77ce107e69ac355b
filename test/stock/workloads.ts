// What a cluster of the matrix runs, and what of it must stay the same while its parts change hands.
import { IMAGE } from '../support/imageArchive.js';
import type { StockMachine } from './machine.js';

const SERVE = ['/bin/nc', '-ll', '-p', '8080', '-e', '/bin/echo', 'hello'];
const template = (app: string, command: readonly string[]) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 1,
    // There is no name server: what a pod asks for goes nowhere.
    dnsPolicy: 'Default',
    containers: [{ name: 'main', image: IMAGE, imagePullPolicy: 'IfNotPresent', command }],
  },
});
const workload = (
  kind: string,
  name: string,
  spec: object,
  command: readonly string[] = ['/bin/sleep', '100000'],
) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: { ...spec, selector: { matchLabels: { app: name } }, template: template(name, command) },
});

/** Leads to the pods of the Deployment. */
export const serviceAt = (name: string, clusterIP: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { clusterIP, selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
});

export const WORKLOADS: readonly object[] = [
  workload('Deployment', 'web', { replicas: 2 }, SERVE),
  workload('DaemonSet', 'each', {}),
  workload('StatefulSet', 'one', { replicas: 1, serviceName: 'one' }),
  serviceAt('web', '10.96.0.80'),
];
export const SERVICE = '10.96.0.80';

interface Listed {
  readonly items: readonly {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
    readonly status?: {
      readonly phase?: string;
      readonly containerStatuses?: readonly {
        readonly ready: boolean;
        readonly restartCount: number;
        readonly containerID: string;
      }[];
    };
  }[];
}

/** Every pod with its containers and how often they were started; throws unless all are ready. */
export async function readyPods(machine: StockMachine, count: number): Promise<readonly string[]> {
  const { items } = await machine.get<Listed>('pods');
  const shown = items.map(({ metadata, status }) => {
    const [{ ready, restartCount, containerID } = { ready: false, restartCount: 0, containerID: '' }] =
      status?.containerStatuses ?? [];
    if (!ready || metadata.deletionTimestamp !== undefined)
      throw new Error(`${metadata.name} is not ready: ${status?.phase}`);
    return `${metadata.name} ${metadata.uid} ${containerID} ${restartCount}`;
  });
  if (shown.length !== count) throw new Error(`${shown.length} pods, not ${count}: ${shown.join('; ')}`);
  return shown.sort();
}

/** What controllers make of a workload once: a second one is a rollout that nobody asked for. */
export async function revisions(machine: StockMachine): Promise<readonly string[]> {
  const { items } = await machine.get<Listed>('replicasets,controllerrevisions,endpointslices');
  return items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`).sort();
}
