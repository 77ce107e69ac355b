// Processes that a test starts.
// Guarantees: each is gone when the test ends, also when it fails.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach } from 'vitest';

/** To be called once in a test file; what is put into the list is killed after each test. */
export function childProcesses(): ChildProcess[] {
  const children: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  });
  return children;
}
