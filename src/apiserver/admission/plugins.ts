// The admission plugins that are on by default, in Kubernetes' order.
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import type { AdmissionPlugin } from '../admission.js';
import type { RbacAuthorizer } from '../auth/rbacAuthorizer.js';
import { makeRbacEscalationCheck } from '../auth/rbacEscalation.js';
import type { Authorizer } from '../identity.js';
import { defaultTolerationSeconds } from './defaultTolerationSeconds.js';
import { type AdmissionLookups, makeLookups } from './lookups.js';
import { makeNamespaceLifecycle } from './namespaceLifecycle.js';
import { makeNodeRestriction } from './nodeRestriction.js';
import { makePriority } from './priority.js';
import { makeServiceAccount } from './serviceAccount.js';
import { taintNodesByCondition } from './taintNodesByCondition.js';

export interface AdmissionOptions {
  /** Or a client to make them of, with informers to answer from memory what they can. */
  readonly lookups?: AdmissionLookups;
  readonly client?: Client;
  readonly informers?: Informers;
  /** With RBAC on: grants beyond what the writer holds are refused. */
  readonly rbac?: { readonly rbac: RbacAuthorizer; readonly authorizer: Authorizer };
}

export function defaultAdmission(options: AdmissionOptions): readonly AdmissionPlugin[] {
  const { client, informers, rbac } = options;
  const lookups = options.lookups ?? (client === undefined ? undefined : makeLookups(client, informers));
  if (lookups === undefined) throw new TypeError('defaultAdmission needs lookups or a client');
  return [
    makeNamespaceLifecycle(lookups),
    makeServiceAccount({ lookups }),
    makeNodeRestriction(lookups),
    taintNodesByCondition,
    makePriority(lookups),
    defaultTolerationSeconds,
    ...(rbac === undefined ? [] : [makeRbacEscalationCheck(rbac)]),
  ];
}
