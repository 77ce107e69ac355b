// Which labels a node may give itself: those its kubelet knows from its machine, and any outside Kubernetes' own domains. Pure.

const ALLOWED = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const ALLOWED_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const RESERVED_DOMAINS = ['kubernetes.io', 'k8s.io'];

type Labels = Readonly<Record<string, string>>;

/** Labels that differ between the two and are not for a kubelet to change. */
export function changedRestrictedLabels(wanted: Labels = {}, held: Labels = {}): readonly string[] {
  const changed = [...new Set([...Object.keys(wanted), ...Object.keys(held)])].filter(
    (key) => wanted[key] !== held[key],
  );
  return changed.filter((key) => !isForKubelets(key));
}

function isForKubelets(key: string): boolean {
  if (ALLOWED.has(key)) return true;
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  const within = (parent: string) => domain === parent || domain.endsWith(`.${parent}`);
  return ALLOWED_DOMAINS.some(within) || !RESERVED_DOMAINS.some(within);
}
