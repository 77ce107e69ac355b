// The downward API: a field of the pod as text, for variables and for files. Pure.
// Guarantees: only the paths that Kubernetes offers are answered; any other is refused by name.
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';

/** What the pod's own object may not say yet. */
export interface Addresses {
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

const KEYED = /^metadata\.(labels|annotations)\['(.*)'\]$/;

export function fieldValue(pod: Pod, fieldPath: string, { podIps, hostIps }: Addresses): string {
  const { metadata, spec } = pod;
  const keyed = KEYED.exec(fieldPath);
  if (keyed !== null) return metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return mapText(metadata.labels);
    case 'metadata.annotations':
      return mapText(metadata.annotations);
    case 'spec.nodeName':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIps[0] ?? '';
    case 'status.hostIPs':
      return hostIps.join(',');
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    default:
      throw new KubeletError('CreateContainerConfigError', `unsupported fieldPath: ${fieldPath}`);
  }
}

/** One `key="value"` a line, sorted, the value quoted as Go quotes it. */
function mapText(map: Readonly<Record<string, string>> = {}): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key] ?? '')}`)
    .join('\n');
}
