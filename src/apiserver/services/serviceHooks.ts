// The Service hooks of an apiserver that reads the stored Services itself, at the first write of one.
// Guarantees: no address or port is given before every stored Service is known.
import type { KubeObject } from '../../api/object.js';
import { SERVICES } from '../../api/resources.js';
import type { Client } from '../../client/client.js';
import type { WriteHooks } from '../machinery.js';
import { AddressRange } from './addressRange.js';
import { PortRange } from './portRange.js';
import {
  makeServiceAllocator,
  type ServiceAllocator,
  type ServiceAllocatorOptions,
} from './serviceAllocator.js';

export interface ServiceHooksOptions extends Omit<ServiceAllocatorOptions, 'services'> {
  /** Trusted: may list all Services. */
  readonly client: Client;
}

/** For the key `services` of the server's hooks. Throws AllocationError at once when a range is wrong. */
export function makeServiceHooks({ client, ...options }: ServiceHooksOptions): WriteHooks {
  for (const cidr of options.serviceCidrs) new AddressRange(cidr, Math.random);
  if (options.nodePortRange !== undefined) new PortRange(options.nodePortRange, Math.random);
  let opening: Promise<ServiceAllocator> | undefined;
  const open = () => {
    opening ??= client
      .of(SERVICES)
      .list()
      .then(({ items }) => makeServiceAllocator({ ...options, services: items }));
    opening.catch(() => {
      opening = undefined; // The next write tries again.
    });
    return opening;
  };
  // Before the first allocation there is nothing to give back; while it opens, the list may still hold what goes now.
  const later = (act: (allocator: ServiceAllocator) => void) => {
    opening?.then(act, () => {});
  };
  return {
    beforeCreate: async (draft) => (await open()).beforeCreate(draft),
    beforeUpdate: async (draft, old) => (await open()).beforeUpdate(draft, old),
    afterUpdate: (written: KubeObject, old: KubeObject) =>
      later((allocator) => allocator.afterUpdate(written, old)),
    afterDelete: (old: KubeObject) => later((allocator) => allocator.afterDelete(old)),
  };
}
