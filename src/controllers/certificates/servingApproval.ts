// Approves the serving certificates that kubelets ask for: of a node, for its own name and its own addresses.
// Guarantees: nothing that the apiserver, a Service or another node is reached by, so that no node can pose as them; what
// is not approved here waits for an administrator (`kubectl certificate approve`), as in any Kubernetes.
import type { V1Node } from '../../api/gen/types.js';
import { canonicalIp, contains, parseCidr } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { approve } from './approving.js';
import { type CertificateRequest, isIssued, isJudged } from './conditions.js';
import type { RequestedCertificate } from './request.js';
import { KUBELET_SERVING_SIGNER, kubeletServingRule, NODE_PREFIX } from './signers.js';

const NAME = 'kubelet-serving-approving-controller';

export interface ServingApproval {
  /** Whether the apiserver's own certificate holds for this name or address. */
  isReserved(host: string): boolean;
  readonly serviceCidrs: readonly string[];
}

export function servingApprover(rules: ServingApproval): Controller {
  return {
    name: NAME,
    needs: [CERTIFICATE_SIGNING_REQUESTS],
    run(context) {
      const requests = context.informers.of(CERTIFICATE_SIGNING_REQUESTS);
      const nodes = context.informers.of(NODES);
      const queue = newQueue(context);
      const wake = (request: CertificateRequest) => {
        if (isOpen(request)) queue.add(request.metadata.name);
      };
      // A node that asks before it has told its addresses is answered when it has.
      const wakeAll = () => requests.list().forEach(wake);
      requests.on({ added: wake, updated: wake });
      nodes.on({
        added: wakeAll,
        updated: (node, before) => {
          if (addressesOf(node).join() !== addressesOf(before).join()) wakeAll();
        },
      });
      return runLoop(context, NAME, {
        queue,
        reconcile: async (name) => {
          const request = requests.get(name);
          if (request === undefined || !isOpen(request)) return undefined;
          const { readRequest } = await import('./request.js');
          const read = await readRequest(request.spec.request).catch((error: unknown) => {
            if (error instanceof RangeError) return undefined;
            throw error;
          });
          if (read !== undefined && isForItself(read.asked, request.spec, nodes.list(), rules))
            await approve(
              context,
              request,
              'Auto approving kubelet serving certificate of a node for itself.',
            );
          return undefined;
        },
      });
    },
  };
}

function isOpen(request: CertificateRequest): boolean {
  return request.spec.signerName === KUBELET_SERVING_SIGNER && !isJudged(request) && !isIssued(request);
}

/** Whether a node asks for itself and for nobody else. Pure. */
export function isForItself(
  asked: RequestedCertificate,
  { usages = [], username }: Pick<CertificateRequest['spec'], 'usages' | 'username'>,
  nodes: readonly Stored<V1Node>[],
  { isReserved, serviceCidrs }: ServingApproval,
): boolean {
  if (kubeletServingRule(asked, usages) !== undefined || username !== asked.commonName) return false;
  const name = asked.commonName.slice(NODE_PREFIX.length);
  const isOwnNode = (node: Stored<V1Node>) => node.metadata.name === name;
  const own = new Set(nodes.filter(isOwnNode).flatMap(addressesOf));
  const foreign = new Set(nodes.filter((node) => !isOwnNode(node)).flatMap(addressesOf));
  const ranges = serviceCidrs.map(parseCidr).filter((range) => range !== undefined);
  const isFree = (host: string) => !foreign.has(host) && !isReserved(host);
  // Services are known by names that end so; a node may not be called like one.
  const isNodeName = (host: string) => host === name && !/\.svc(\.|$)/.test(host);
  return (
    asked.dnsNames.every((host) => isNodeName(host) && isFree(host)) &&
    asked.ipAddresses
      .map((address) => canonicalIp(address) ?? '')
      .every((ip) => own.has(ip) && isFree(ip) && !ranges.some((range) => contains(range, ip)))
  );
}

const addressesOf = ({ status }: Stored<V1Node>): string[] =>
  (status?.addresses ?? []).map(({ address }) => canonicalIp(address) ?? address);
