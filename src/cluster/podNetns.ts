// The network namespace of a pod of this node, as the runtime tells it.
// Guarantees: of the newest sandbox of that name that runs.
import { access } from 'node:fs/promises';
import type { RuntimeService, StringMap } from '../cri/runtime.js';
import { POD_NAME, POD_NAMESPACE } from '../kubelet/names.js';

interface NamedPod {
  readonly namespace: string;
  readonly name: string;
}

export async function podNetns(
  runtime: Pick<RuntimeService, 'listPodSandbox' | 'podSandboxInfo'>,
  pod: NamedPod,
): Promise<string> {
  const labels = { [POD_NAMESPACE]: pod.namespace, [POD_NAME]: pod.name };
  const running = (await runtime.listPodSandbox({ labels })).filter(({ state }) => state === 'SANDBOX_READY');
  const [sandbox] = running.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
  if (sandbox === undefined) throw new Error(`pod ${pod.namespace}/${pod.name} does not run on this node`);
  const { path, pid } = netnsPlaces(await runtime.podSandboxInfo(sandbox.id));
  const places = [path, pid === undefined ? undefined : `/proc/${pid}/ns/net`];
  for (const place of places) if (place !== undefined && (await isThere(place))) return place;
  throw new Error(`the runtime does not tell where the network of pod ${pod.namespace}/${pod.name} is`);
}

interface Info {
  readonly pid?: number;
  readonly runtimeSpec?: {
    readonly linux?: { readonly namespaces?: readonly { readonly type?: string; readonly path?: string }[] };
  };
}

/** Pure: what the verbose status of a sandbox says, in containerd and in CRI-O. */
export function netnsPlaces(info: StringMap): { readonly path?: string; readonly pid?: number } {
  let told: Info;
  try {
    told = JSON.parse(info['info'] ?? '{}') as Info;
  } catch {
    return {};
  }
  const own = told.runtimeSpec?.linux?.namespaces?.find(({ type }) => type === 'network');
  return {
    ...(own?.path ? { path: own.path } : {}),
    ...(told.pid ? { pid: told.pid } : {}),
  };
}

const isThere = (place: string) =>
  access(place).then(
    () => true,
    () => false,
  );
