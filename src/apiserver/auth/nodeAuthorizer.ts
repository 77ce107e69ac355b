// What a kubelet may do: its own node, and what the pods bound to that node need. Kubernetes' Node authorizer.
// Guarantees: a stolen kubelet certificate opens only what its own pods name; other users get no opinion from here.
import type { KindDefinition } from '../../api/kind.js';
import type { Informers } from '../../client/informer.js';
import type { Attributes, Authorizer, Decision, UserInfo } from '../identity.js';
import { componentRules } from './defaults/componentRules.js';
import { type GraphObject, makeNodeGraph } from './nodeGraph.js';
import { ruleAllows } from './rbac.js';

/** What every kubelet may do without regard to which node it is; the judges narrow the rest to the node's own. */
const NODE_RULES = componentRules['system:node'] ?? [];

const NODES_GROUP = 'system:nodes';
const NODE_USER_PREFIX = 'system:node:';
const LEASE_NAMESPACE = 'kube-node-lease';
const READ = ['get', 'list', 'watch'];
const OWN_OBJECT = ['get', 'create', 'update', 'patch', 'delete'];

/** The node that a user is, or undefined for users that are none. */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.groups.includes(NODES_GROUP) || !user.name.startsWith(NODE_USER_PREFIX)) return undefined;
  return user.name.slice(NODE_USER_PREFIX.length) || undefined;
}

const NO_OPINION: Decision = { verdict: 'no opinion', reason: '' };
const ALLOW: Decision = { verdict: 'allow', reason: '' };
const no = (reason: string): Decision => ({ verdict: 'no opinion', reason });

type Judge = (asked: Attributes, nodeName: string) => Decision;

export function makeNodeAuthorizer(informers: Informers, kinds: readonly KindDefinition[]): Authorizer {
  const judges = judgesBy(relatedBy(makeNodeGraph(informers, kinds)));
  return {
    authorize(asked) {
      const nodeName = nodeNameOf(asked.user);
      if (nodeName === undefined) {
        return asked.user.groups.includes(NODES_GROUP)
          ? no(`unknown node for user ${JSON.stringify(asked.user.name)}`)
          : NO_OPINION;
      }
      const judge = asked.path === undefined ? judges.get(`${asked.group}/${asked.resource}`) : undefined;
      if (judge !== undefined) return judge(asked, nodeName);
      return NODE_RULES.some((rule) => ruleAllows(rule, asked)) ? ALLOW : NO_OPINION;
    },
  };
}

/** Each resource that is the node's own only in part, and who judges it. */
function judgesBy(related: Judge): ReadonlyMap<string, Judge> {
  const { get, readNamed, claim, account } = namedJudges(related);
  return new Map([
    ['/secrets', readNamed],
    ['/configmaps', readNamed],
    ['/persistentvolumeclaims', claim],
    ['/persistentvolumes', get],
    ['resource.k8s.io/resourceclaims', get],
    ['storage.k8s.io/volumeattachments', get],
    ['/serviceaccounts', account],
    ['coordination.k8s.io/leases', lease],
    ['storage.k8s.io/csinodes', csiNode],
    ['resource.k8s.io/resourceslices', sliceJudge(related)],
    ['/nodes', node],
    ['/pods', podJudge(related, get)],
  ]);
}

/** Allows what a pod of the node, or the node itself, names. */
const relatedBy =
  (graph: ReturnType<typeof makeNodeGraph>): Judge =>
  (asked, nodeName) => {
    if (asked.name === '') return no('No Object name found');
    const object = { ...asked, resource: asked.resource as GraphObject['resource'] };
    return graph.belongs(object, nodeName)
      ? ALLOW
      : no(`no relationship found between node '${nodeName}' and this object`);
  };

/** Those that allow a few verbs on one object by its name. */
function namedJudges(related: Judge) {
  const get: Judge = (asked, nodeName) => {
    if (asked.verb !== 'get') return no('can only get individual resources of this type');
    return asked.subresource === '' ? related(asked, nodeName) : no('cannot get subresource');
  };
  const readNamed: Judge = (asked, nodeName) => {
    if (!READ.includes(asked.verb)) return no('can only read resources of this type');
    if (asked.subresource !== '') return no('cannot read subresource');
    if (asked.namespace === '') return no('can only read namespaced object of this type');
    return related(asked, nodeName);
  };
  const claim: Judge = (asked, nodeName) => {
    if (asked.subresource !== 'status') return get(asked, nodeName);
    return asked.verb === 'update' || asked.verb === 'patch'
      ? related(asked, nodeName)
      : no('can only get/update/patch this type');
  };
  const account: Judge = (asked, nodeName) => {
    if (asked.verb === 'get' && asked.subresource === '') return readNamed(asked, nodeName);
    if (asked.verb !== 'create' || asked.name === '')
      return no('can only create tokens for individual service accounts');
    return asked.subresource === 'token'
      ? related(asked, nodeName)
      : no('can only create token subresource of serviceaccount');
  };
  return { get, readNamed, claim, account };
}

const sliceJudge =
  (related: Judge): Judge =>
  (asked, nodeName) => {
    if (asked.subresource !== '') return no('cannot authorize ResourceSlice subresources');
    // NodeRestriction looks at whose a new one is.
    if (asked.verb === 'create') return ALLOW;
    if (['get', 'update', 'patch', 'delete'].includes(asked.verb)) return related(asked, nodeName);
    if (!['watch', 'list', 'deletecollection'].includes(asked.verb))
      return no(
        'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
      );
    return selects(asked, 'spec.nodeName', nodeName)
      ? ALLOW
      : no('can only list/watch/deletecollection resourceslices with nodeName field selector');
  };

const podJudge =
  (related: Judge, get: Judge): Judge =>
  (asked, nodeName) => {
    const { subresource, verb } = asked;
    if (subresource === '' && verb === 'get') return get(asked, nodeName);
    if (subresource === '' && (verb === 'list' || verb === 'watch')) {
      if (selects(asked, 'spec.nodeName', nodeName)) return ALLOW;
      if (asked.name !== '') return related(asked, nodeName);
      return no('can only list/watch pods with spec.nodeName field selector');
    }
    // NodeRestriction narrows these to mirror pods and to pods of this node.
    return POD_WRITES[subresource]?.includes(verb) === true ? ALLOW : NO_OPINION;
  };

const POD_WRITES: Readonly<Record<string, readonly string[]>> = {
  '': ['create', 'delete'],
  status: ['update', 'patch'],
  eviction: ['create'],
};

/** Whether the request can show or touch nothing but objects whose field has the value. */
function selects({ fieldSelector = [] }: Attributes, field: string, value: string): boolean {
  return fieldSelector.some((term) => term.field === field && term.operator === '=' && term.value === value);
}

/** Names are compared, not looked up: a kubelet reads its own node before it has made it. */
const node: Judge = ({ subresource, verb, name }, nodeName) => {
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? ALLOW : NO_OPINION;
  if (subresource !== '') return NO_OPINION;
  // NodeRestriction looks at whose it is.
  if (['create', 'update', 'patch'].includes(verb)) return ALLOW;
  if (!READ.includes(verb)) return NO_OPINION;
  if (name === nodeName) return ALLOW;
  return name === ''
    ? no(`node '${nodeName}' cannot read all nodes, only its own Node object`)
    : no(`node '${nodeName}' cannot read '${name}', only its own Node object`);
};

/** A create carries no name in its address; NodeRestriction looks at the object's. */
const lease: Judge = ({ verb, namespace, name }, nodeName) => {
  if (!OWN_OBJECT.includes(verb)) return no('can only get, create, update, patch, or delete a node lease');
  if (namespace !== LEASE_NAMESPACE)
    return no(`can only access leases in the "${LEASE_NAMESPACE}" system namespace`);
  return verb === 'create' || name === nodeName
    ? ALLOW
    : no('can only access node lease with the same name as the requesting node');
};

const csiNode: Judge = ({ subresource, verb, name }, nodeName) => {
  if (subresource !== '') return no('cannot authorize CSINode subresources');
  if (!OWN_OBJECT.includes(verb)) return no('can only get, create, update, patch, or delete a CSINode');
  return verb === 'create' || name === nodeName
    ? ALLOW
    : no('can only access CSINode with the same name as the requesting node');
};
