// Which controllers run: the list that `--controllers` takes. Pure.
// Guarantees: a name that no controller has is told, not ignored, and so is a list that leaves none; the first entry that speaks of a name decides.
import { ControllersError } from './error.js';

/** Kubernetes' older names, as far as they are more than the newer ones without `-controller`. */
const OLDER: Readonly<Record<string, string>> = {
  bootstrapsigner: 'bootstrap-signer',
  csrapproving: 'certificatesigningrequest-approving',
  csrcleaner: 'certificatesigningrequest-cleaner',
  csrsigning: 'certificatesigningrequest-signing',
  endpoint: 'endpoints',
  endpointslicemirroring: 'endpointslice-mirroring',
  garbagecollector: 'garbage-collector',
  horizontalpodautoscaling: 'horizontal-pod-autoscaler',
  nodeipam: 'node-ipam',
  nodelifecycle: 'node-lifecycle',
  podgc: 'pod-garbage-collector',
  'pv-protection': 'persistentvolume-protection',
  'pvc-protection': 'persistentvolumeclaim-protection',
  'root-ca-cert-publisher': 'root-ca-certificate-publisher',
  service: 'service-lb',
  tokencleaner: 'token-cleaner',
};

/** Kubernetes has them and this has not: to switch them off is no mistake. */
const ABSENT: ReadonlySet<string> = new Set(
  [
    'attachdetach',
    'persistentvolume-attach-detach',
    'cloud-node-lifecycle',
    'route',
    'node-route',
    'legacy-service-account-token-cleaner',
    'legacy-serviceaccount-token-cleaner',
    'resourceclaim',
    'resource-claim',
    'device-taint-eviction',
    'selinux-warning',
    'storage-version-gc',
    'storageversion-garbage-collector',
    'storage-version-migrator',
    'podcertificaterequest-cleaner',
    'validatingadmissionpolicy-status',
    'volumeattributesclass-protection',
    'kube-apiserver-serving-clustertrustbundle-publisher',
  ].flatMap((name) => [name, `${name}-controller`]),
);

/** `*` is every controller, `name` one, `-name` not that one. Throws ControllersError for an unknown name, and where nothing is left. */
export function enabledNames(known: readonly string[], entries: readonly string[]): string[] {
  const wanted = entries.filter((entry) => !(entry.startsWith('-') && ABSENT.has(entry.slice(1))));
  const named = wanted.map((entry) => (entry === '*' ? entry : newerName(known, entry)));
  const on = known.filter((name) => {
    if (named.includes(`-${name}`) && !named.slice(0, named.indexOf(`-${name}`)).includes(name)) return false;
    return named.includes(name) || named.includes('*');
  });
  if (on.length === 0 && entries.length > 0)
    throw new ControllersError(
      'NO_CONTROLLER',
      `--controllers switches no controller on: begin with "*" for all the others, or name some of ${known.join(', ')}`,
    );
  return on;
}

function newerName(known: readonly string[], entry: string): string {
  const sign = entry.startsWith('-') ? '-' : '';
  const name = entry.slice(sign.length);
  const candidates = [name, `${name}-controller`, `${OLDER[name]}-controller`];
  const found = candidates.find((candidate) => known.includes(candidate));
  if (found !== undefined) return `${sign}${found}`;
  throw new ControllersError(
    'UNKNOWN_CONTROLLER',
    `"${name}" is not in the list of known controllers: ${known.join(', ')}`,
  );
}
