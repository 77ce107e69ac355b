// UDP flows are ended exactly when they are stale, in each mode that leaves packets to the kernel.
import { test, vi } from 'vitest';
import { openMode } from '../../../src/proxy/modes.js';
import { expectFlowsToFollow } from '../../support/proxy/flows.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { KERNEL_MODES, truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const { open } = truthLab();
describeWith({ root: true, tools: ['nsenter', 'ip', 'perl'] }, 'UDP flows', () => {
  test.each(KERNEL_MODES)('live through a restart unless they are stale (%s, %s)', async (name, backend) => {
    const lab = await open();
    await expectFlowsToFollow(lab, () =>
      openMode(name, {
        table: 'trellis-flows',
        families: ['ip'],
        traffic: OPTIONS.usual,
        backend,
        netns: lab.node.path,
      }),
    );
  });
});
