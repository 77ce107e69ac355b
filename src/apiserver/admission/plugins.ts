// The admission plugins of an apiserver, made and put in Kubernetes' order.
// Guarantees: a plugin runs because it was chosen; grants beyond the writer's own are refused while RBAC is on, chosen or not.
import type { KindDefinition } from '../../api/kind.js';
import type { Client } from '../../client/client.js';
import type { AdmissionPlugin } from '../admission.js';
import type { RbacAuthorizer } from '../auth/rbacAuthorizer.js';
import { makeRbacEscalationCheck } from '../auth/rbacEscalation.js';
import type { Authorizer } from '../identity.js';
import { alwaysAdmit, alwaysDeny, alwaysPullImages } from './always.js';
import { makeCertificateApproval, makeCertificateSigning } from './certificateSigners.js';
import { certificateSubjectRestriction } from './certificateSubject.js';
import { type AdmissionChoice, chosenPlugins, type PluginName } from './choice.js';
import { makeClaimResize } from './claimResize.js';
import { makeDefaultIngressClass, makeDefaultStorageClass } from './defaultClass.js';
import { defaultTolerationSeconds } from './defaultTolerationSeconds.js';
import { denyServiceExternalIps } from './denyServiceExternalIps.js';
import { makeLimitRanger } from './limits/limitRanger.js';
import type { AdmissionLookups } from './lookups.js';
import { makeNamespaceExists, makeNamespaceLifecycle } from './namespaceLifecycle.js';
import { makeNodeDeclaredFeatures } from './nodeDeclaredFeatures.js';
import { nodePodCidr } from './nodePodCidr.js';
import { makeNodeRestriction } from './nodeRestriction.js';
import { makePodResizeValidator } from './podResize.js';
import { makePodSecurity } from './podSecurity/podSecurity.js';
import { makePodTopologyLabels } from './podTopologyLabels.js';
import { makePriority } from './priority.js';
import { makeResourceQuota } from './quota/resourceQuota.js';
import { makeRuntimeClass } from './runtimeClass.js';
import { makeServiceAccount } from './serviceAccount.js';
import { storageObjectInUseProtection } from './storageObjectInUseProtection.js';
import { taintNodesByCondition } from './taintNodesByCondition.js';

interface AdmissionOptions extends AdmissionChoice {
  readonly lookups: AdmissionLookups;
  /** Trusted: reserves quota and asks for what informers do not hold. */
  readonly client: Client;
  readonly kinds: readonly KindDefinition[];
  /** Judges what the certificate plugins must ask. */
  readonly authorizer: Authorizer;
  /** With RBAC on: grants beyond what the writer holds are refused. */
  readonly rbac?: RbacAuthorizer;
}

/** It judges kinds and fields that Kubernetes 1.36 serves only with a gate that is off: of those there are none here. */
const withoutSubject = (name: PluginName): AdmissionPlugin => ({ name });

export function makeAdmission(options: AdmissionOptions): readonly AdmissionPlugin[] {
  const { lookups, client, kinds, authorizer, rbac } = options;
  const make: Record<PluginName, () => AdmissionPlugin> = {
    AlwaysAdmit: () => alwaysAdmit,
    NamespaceLifecycle: () => makeNamespaceLifecycle(lookups),
    NamespaceExists: () => makeNamespaceExists(lookups),
    AlwaysPullImages: () => alwaysPullImages,
    LimitRanger: () => makeLimitRanger(lookups),
    ServiceAccount: () => makeServiceAccount({ lookups }),
    NodeRestriction: () => makeNodeRestriction({ lookups, authorizer }),
    TaintNodesByCondition: () => taintNodesByCondition,
    PodSecurity: () => makePodSecurity(lookups),
    Priority: () => makePriority(lookups),
    DefaultTolerationSeconds: () => defaultTolerationSeconds,
    StorageObjectInUseProtection: () => storageObjectInUseProtection,
    PodGroupProtection: () => withoutSubject('PodGroupProtection'),
    PersistentVolumeClaimResize: () => makeClaimResize(lookups),
    RuntimeClass: () => makeRuntimeClass(lookups),
    CertificateApproval: () => makeCertificateApproval(authorizer),
    CertificateSigning: () => makeCertificateSigning(authorizer),
    ClusterTrustBundleAttest: () => withoutSubject('ClusterTrustBundleAttest'),
    CertificateSubjectRestriction: () => certificateSubjectRestriction,
    DefaultIngressClass: () => makeDefaultIngressClass(lookups),
    DenyServiceExternalIPs: () => denyServiceExternalIps,
    DefaultStorageClass: () => makeDefaultStorageClass(lookups),
    PodTopologyLabels: () => makePodTopologyLabels(lookups),
    PodGroupWorkloadExists: () => withoutSubject('PodGroupWorkloadExists'),
    NodeDeclaredFeatureValidator: () => makeNodeDeclaredFeatures(lookups),
    JobValidation: () => withoutSubject('JobValidation'),
    PodResizeValidator: () => makePodResizeValidator(lookups),
    ResourceQuota: () => makeResourceQuota({ lookups, client, kinds }),
    AlwaysDeny: () => alwaysDeny,
  };
  return [
    ...chosenPlugins(options).map((name) => make[name]()),
    nodePodCidr,
    ...(rbac === undefined ? [] : [makeRbacEscalationCheck({ rbac, authorizer })]),
  ];
}
