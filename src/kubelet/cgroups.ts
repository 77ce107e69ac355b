// What the kubelet needs of control groups: one for each pod, below its QoS class.
// Guarantees: the port is the kernel's; creating again updates, removing what is gone is success.
import type { LinuxContainerResources } from '../cri/runtime.js';

export interface CgroupsPort {
  create(path: string, resources: LinuxContainerResources): Promise<void>;
  remove(path: string): Promise<void>;
}
