// Service networks: a finalizer keeps a ServiceCIDR while addresses of Services would be left without a network.
// Guarantees: Ready tells whether it may be used; a network goes only when every address in it has another.
import type { V1Condition, V1IPAddress, V1ServiceCIDR } from '../api/gen/types.js';
import { type Cidr, contains, parseCidr } from '../api/ip.js';
import { ALLOCATOR, MANAGED_BY_LABEL } from '../api/kinds/networking/serviceAddresses.js';
import type { Stored } from '../api/object.js';
import { IP_ADDRESSES, SERVICE_CIDRS } from '../api/resources.js';
import { ignoring } from './claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from './controller.js';

const NAME = 'service-cidr-controller';
export const SERVICE_CIDR_FINALIZER = 'networking.k8s.io/service-cidr-finalizer';
/** Until every apiserver has heard that it goes, and gives no address of it any more. */
const GRACE_MS = 10_000;

type ServiceCidr = Stored<V1ServiceCIDR>;
type Address = Stored<V1IPAddress>;

type ServiceCidrStep =
  | { readonly set: 'finalizers'; readonly finalizers: readonly string[] }
  | { readonly set: 'ready'; readonly condition: Pick<V1Condition, 'status' | 'reason' | 'message'> }
  | { readonly set: 'nothing'; readonly againMs?: number };

/** The next thing to do for one of them. */
export function planServiceCidr(
  one: ServiceCidr,
  all: readonly ServiceCidr[],
  addresses: readonly Address[],
  now: number,
): ServiceCidrStep {
  const { finalizers = [], deletionTimestamp } = one.metadata;
  const has = finalizers.includes(SERVICE_CIDR_FINALIZER);
  if (deletionTimestamp === undefined) {
    if (!has) return { set: 'finalizers', finalizers: [...finalizers, SERVICE_CIDR_FINALIZER] };
    return ready(one, { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' });
  }
  if (!has) return { set: 'nothing' };
  if (isNeeded(one, all, addresses)) {
    const message =
      'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR';
    return ready(one, { status: 'False', reason: 'Terminating', message });
  }
  const againMs = Date.parse(deletionTimestamp) + GRACE_MS - now;
  if (againMs > 0) return { set: 'nothing', againMs };
  return { set: 'finalizers', finalizers: finalizers.filter((name) => name !== SERVICE_CIDR_FINALIZER) };
}

function ready(
  { status }: ServiceCidr,
  condition: Pick<V1Condition, 'status' | 'reason' | 'message'>,
): ServiceCidrStep {
  const held = status?.conditions?.find(({ type }) => type === 'Ready');
  const isSet = held?.status === condition.status && held.reason === condition.reason;
  return isSet ? { set: 'nothing' } : { set: 'ready', condition };
}

/** True when an address of a Service is in this network and in no other that stays. */
function isNeeded(one: ServiceCidr, all: readonly ServiceCidr[], addresses: readonly Address[]): boolean {
  const own = networksOf(one);
  const others = all
    .filter(({ metadata }) => metadata.name !== one.metadata.name && metadata.deletionTimestamp === undefined)
    .flatMap(networksOf);
  const isIn = (networks: readonly Cidr[], name: string) => networks.some((cidr) => contains(cidr, name));
  return addresses.some(
    ({ metadata: { name, labels } }) =>
      labels?.[MANAGED_BY_LABEL] === ALLOCATOR && isIn(own, name) && !isIn(others, name),
  );
}

function networksOf({ spec }: ServiceCidr): readonly Cidr[] {
  return (spec?.cidrs ?? []).flatMap((text) => parseCidr(text) ?? []);
}

export const serviceCidrController: Controller = {
  name: NAME,
  needs: [SERVICE_CIDRS, IP_ADDRESSES],
  async run(context) {
    const { informers, now } = context;
    const queue = newQueue(context);
    const networks = informers.of(SERVICE_CIDRS);
    const addresses = informers.of(IP_ADDRESSES);
    // Whether one may go depends on the others and on the addresses; there are few of them.
    const lookAtAll = () => {
      for (const { metadata } of networks.list()) queue.add(metadata.name);
    };
    const lookAtLeaving = () => {
      for (const { metadata } of networks.list())
        if (metadata.deletionTimestamp !== undefined) queue.add(metadata.name);
    };
    networks.on({ added: lookAtAll, updated: lookAtAll, deleted: lookAtAll });
    addresses.on({ added: lookAtLeaving, deleted: lookAtLeaving });
    const reconcile = async (name: string): Promise<number | undefined> => {
      const one = networks.get(name);
      if (one === undefined) return undefined;
      const step = planServiceCidr(one, networks.list(), addresses.list(), now());
      if (step.set === 'nothing') return step.againMs;
      await ignoring(['NotFound'], carryOut(context, one, step));
      return undefined;
    };
    await runLoop(context, NAME, { queue, workers: 1, reconcile });
  },
};

function carryOut(
  { client, now }: ControllerContext,
  { metadata, status }: ServiceCidr,
  step: Exclude<ServiceCidrStep, { set: 'nothing' }>,
): Promise<unknown> {
  const { uid, resourceVersion } = metadata;
  const networks = client.of(SERVICE_CIDRS);
  if (step.set === 'finalizers') {
    const { finalizers } = step;
    return networks.patch(metadata, 'merge', { metadata: { uid, resourceVersion, finalizers } });
  }
  const lastTransitionTime = `${new Date(now()).toISOString().slice(0, 19)}Z`;
  const others = (status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  const conditions = [...others, { type: 'Ready', ...step.condition, lastTransitionTime }];
  const patch = { metadata: { uid, resourceVersion }, status: { conditions } };
  return networks.patch(metadata, 'merge', patch, { subresource: 'status' });
}
