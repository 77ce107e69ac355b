// A limit below what is in use is refused before anything is changed, in the words that people look for.
import { expect, test } from 'vitest';
import type { RuntimeService } from '../../../../src/cri/runtime.js';
import type { CgroupPort } from '../../../../src/kernel/cgroup/port.js';
import { completeConfig } from '../../../../src/kubelet/config.js';
import { ResizeActuator } from '../../../../src/kubelet/resize/actuate.js';
import { container, podOf } from '../support.js';

const MIB = 1024 * 1024;

async function resize(used: (group: string) => number): Promise<readonly string[]> {
  const did: string[] = [];
  const actuator = new ResizeActuator({
    config: completeConfig({ nodeName: 'n' }),
    runtime: {
      updateContainerResources: async () => void did.push('container'),
      updatePodSandboxResources: async () => {},
    } as unknown as RuntimeService,
    cgroups: { update: async () => void did.push('pod') } as unknown as CgroupPort,
    machine: () => ({ memoryCapacity: 1024 * MIB, cpuCFSQuota: true, hugePageSizes: [] }),
    memoryOf: async (group) => used(group),
  });
  const limited = container('web', { resources: { limits: { memory: '10Mi' } } });
  const order = {
    containers: [{ container: limited, id: 'c1' }],
    given: () => undefined,
    givenWhole: undefined,
  };
  await actuator.resize({ ...order, pod: podOf({ containers: [limited] }), sandboxId: undefined } as never);
  return did;
}

test('a limit that leaves room is set', async () => {
  expect(await resize(() => 5 * MIB)).toEqual(['pod', 'container', 'pod']);
});

test('one below what the pod uses is not', async () => {
  await expect(resize(() => 20 * MIB)).rejects.toThrow(
    'attempting to set pod memory limit (10485760) below current usage (20971520)',
  );
});

test('nor one below what the container uses', async () => {
  await expect(resize((group) => (group.endsWith('/c1') ? 20 * MIB : 0))).rejects.toThrow(
    'attempting to set container "web" memory limit (10485760) below current usage (20971520)',
  );
});
