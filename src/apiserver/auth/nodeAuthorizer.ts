// What a kubelet may do: its own node, and what the pods bound to that node need. Kubernetes' Node authorizer.
// Guarantees: a stolen kubelet certificate opens only what its own pods name; other users get no opinion from here.
import type { Informers } from '../../client/informer.js';
import type { Attributes, Authorizer, Decision, UserInfo } from '../identity.js';
import { nodeRules } from './nodeRules.js';
import { placedPods } from './placedPods.js';
import { ruleAllows } from './rbac.js';

export const NODES_GROUP = 'system:nodes';
const NODE_USER_PREFIX = 'system:node:';
const BY_REFERENCE = 'node.reference';

/** The node that a user is, or undefined for users that are none. */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.groups.includes(NODES_GROUP) || !user.name.startsWith(NODE_USER_PREFIX)) return undefined;
  return user.name.slice(NODE_USER_PREFIX.length) || undefined;
}

const NO_OPINION: Decision = { verdict: 'no opinion', reason: '' };
const ALLOW: Decision = { verdict: 'allow', reason: '' };
const no = (reason: string): Decision => ({ verdict: 'no opinion', reason });

export function makeNodeAuthorizer(informers: Informers): Authorizer {
  const pods = placedPods(informers);
  // A pod is found under each thing it names, per node, so a question is one look and no scan.
  pods.index(BY_REFERENCE, ({ nodeName = '', references, metadata: { namespace = '' } }) =>
    references.map((reference) => edge(nodeName, namespace, reference)),
  );
  const reaches = ({ namespace, resource, name }: Attributes, nodeName: string) =>
    name !== '' && pods.byIndex(BY_REFERENCE, edge(nodeName, namespace, `${resource}/${name}`)).length > 0;

  return {
    authorize(asked) {
      const nodeName = nodeNameOf(asked.user);
      if (nodeName === undefined) {
        return asked.user.groups.includes(NODES_GROUP)
          ? no(`unknown node for user ${JSON.stringify(asked.user.name)}`)
          : NO_OPINION;
      }
      if (asked.path === undefined && asked.group === '') {
        if (asked.resource === 'secrets' || asked.resource === 'configmaps')
          return readOfNamed(asked, nodeName);
        if (asked.resource === 'serviceaccounts') return tokenRequest(asked, nodeName);
        if (asked.resource === 'pods' && asked.verb === 'get') return ownPod(asked, nodeName);
        if (asked.resource === 'persistentvolumeclaims' && asked.subresource === '')
          return readOfNamed(asked, nodeName);
      }
      if (asked.path === undefined && asked.group === 'coordination.k8s.io' && asked.resource === 'leases')
        return lease(asked, nodeName);
      return nodeRules.some((rule) => ruleAllows(rule, asked)) ? ALLOW : NO_OPINION;
    },
  };

  function ownPod(asked: Attributes, nodeName: string): Decision {
    if (asked.subresource !== '') return NO_OPINION;
    const pod = pods.get(`${asked.namespace}/${asked.name}`);
    // A pod that is gone is allowed: the kubelet must hear NotFound, or it would hold the pod's remains for ever.
    return pod === undefined || pod.nodeName === nodeName ? ALLOW : no(noRelation(asked, nodeName));
  }

  function readOfNamed(asked: Attributes, nodeName: string): Decision {
    if (!['get', 'list', 'watch'].includes(asked.verb) || asked.subresource !== '')
      return no('can only read resources of this type');
    if (asked.name === '') return no('No Object name found');
    return reaches(asked, nodeName) ? ALLOW : no(noRelation(asked, nodeName));
  }

  function tokenRequest(asked: Attributes, nodeName: string): Decision {
    if (asked.subresource === '' && asked.verb === 'get')
      return reaches(asked, nodeName) ? ALLOW : no(noRelation(asked, nodeName));
    if (asked.verb !== 'create' || asked.subresource !== 'token')
      return no('can only get individual resources of this type, or create a token for it');
    return reaches(asked, nodeName) ? ALLOW : no(noRelation(asked, nodeName));
  }

  function lease(asked: Attributes, nodeName: string): Decision {
    if (asked.namespace !== 'kube-node-lease')
      return no(`can only access leases in the "kube-node-lease" system namespace`);
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(asked.verb))
      return no('can only get, create, update, patch, or delete a node lease');
    // A create carries no name in its address; NodeRestriction looks at the object's.
    return asked.name === nodeName || (asked.verb === 'create' && asked.name === '')
      ? ALLOW
      : no(`can only access node lease with the same name as the requesting node`);
  }
}

function noRelation({ resource, name }: Attributes, nodeName: string): string {
  return `no relationship found between node '${nodeName}' and this object: ${resource} "${name}"`;
}

function edge(nodeName: string, namespace: string, reference: string): string {
  return `${nodeName}|${namespace}|${reference}`;
}
