// The service load balancer controller: gives Services of type LoadBalancer their addresses.
// Guarantees: one worker decides, on a cache that shows its own last writes, so no address is given twice.
import type { Cidr } from '../../api/ip.js';
import { keyOf } from '../../api/object.js';
import { SERVICES } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { Writes } from '../writes.js';
import { addressesOf, planBalancer, type Service, wantsBalancer } from './pool.js';

const NAME = 'service-lb-controller';
const AGAIN_MS = 30_000;
const ALL = 'all';

export function serviceBalancerController(pools: readonly Cidr[]): Controller {
  return {
    name: NAME,
    run(context) {
      const { client, informers, record, now } = context;
      const services = informers.of(SERVICES);
      const queue = newQueue(context);
      const writes = new Writes(now);
      const wake = (service: Service) => {
        if (pools.length > 0 && (wantsBalancer(service) || addressesOf(service).length > 0))
          queue.add(keyOf(service.metadata));
      };
      const wakeWaiting = () => {
        for (const service of services.list()) if (addressesOf(service).length === 0) wake(service);
      };
      services.on({
        added: wake,
        updated: wake,
        deleted: (service) => {
          writes.gone(ALL, service.metadata.uid);
          if (addressesOf(service).length > 0) wakeWaiting();
        },
      });
      const reconcile = async (key: string): Promise<number | undefined> => {
        const service = services.get(key);
        if (service === undefined || service.metadata.deletionTimestamp !== undefined) return undefined;
        // Addresses are common to all: every own write must be seen before another is given.
        if (!writes.seen(ALL, services.list())) return 20;
        const plan = planBalancer(service, services.list(), pools);
        if (plan.do === 'nothing') return undefined;
        if (plan.do === 'wait') {
          record(SERVICES, service, {
            type: 'Warning',
            reason: 'SyncLoadBalancerFailed',
            message: plan.message,
          });
          return AGAIN_MS;
        }
        const ingress = plan.addresses.map((ip) => ({ ip, ipMode: 'VIP' }));
        const status = { ...service.status, loadBalancer: ingress.length === 0 ? {} : { ingress } };
        const update = client.of(SERVICES).update({ ...service, status }, { subresource: 'status' });
        const written = await ignoring(['NotFound'], update);
        if (written === undefined) return undefined;
        writes.wrote(ALL, written);
        if (ingress.length > 0)
          record(SERVICES, service, {
            type: 'Normal',
            reason: 'EnsuredLoadBalancer',
            message: 'Ensured load balancer',
          });
        else wakeWaiting();
        return undefined;
      };
      return runLoop(context, NAME, { queue, workers: 1, reconcile });
    },
  };
}
