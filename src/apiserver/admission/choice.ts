// Which admission plugins run: the defaults, with and without what the flags name. Pure.
// Guarantees: Kubernetes' names and order; a name that is unknown, or both enabled and disabled, is refused.
import { ApiServerError } from '../error.js';

/** Every plugin, in the order in which they run. */
export const PLUGIN_NAMES = [
  'AlwaysAdmit',
  'NamespaceLifecycle',
  'NamespaceExists',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'AlwaysPullImages',
  'PodSecurity',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PodGroupProtection',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'ClusterTrustBundleAttest',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'PodTopologyLabels',
  'PodGroupWorkloadExists',
  'NodeDeclaredFeatureValidator',
  'JobValidation',
  'PodResizeValidator',
  'ResourceQuota',
  'AlwaysDeny',
] as const;

export type PluginName = (typeof PLUGIN_NAMES)[number];

const OFF_BY_DEFAULT: readonly PluginName[] = [
  'AlwaysAdmit',
  'AlwaysDeny',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'NamespaceExists',
];

export interface AdmissionChoice {
  /** --enable-admission-plugins. */
  readonly enable?: readonly string[];
  /** --disable-admission-plugins. */
  readonly disable?: readonly string[];
}

export function chosenPlugins({ enable = [], disable = [] }: AdmissionChoice): readonly PluginName[] {
  const unknown = [...enable, ...disable].filter((name) => !isPluginName(name));
  if (unknown.length > 0)
    throw new ApiServerError(
      'UNKNOWN_PLUGIN',
      `no admission plugin is called ${unknown.join(', ')}; there are ${PLUGIN_NAMES.join(', ')}`,
    );
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0)
    throw new ApiServerError(
      'UNKNOWN_PLUGIN',
      `${both.join(', ')} in enable-admission-plugins and disable-admission-plugins overlapped`,
    );
  return PLUGIN_NAMES.filter(
    (name) => enable.includes(name) || !(disable.includes(name) || OFF_BY_DEFAULT.includes(name)),
  );
}

function isPluginName(name: string): name is PluginName {
  return (PLUGIN_NAMES as readonly string[]).includes(name);
}
