// What a scheduler did while it was measured: its writes by verb and resource, and how often it tried a pod.
// Guarantees: counts what went through its transport and its own metrics; reads are not counted.
import type { Transport } from '../../src/client/transport.js';
import { SchedulerMetrics } from '../../src/scheduler/metrics.js';

export class Activity {
  readonly metrics = new SchedulerMetrics();
  readonly #writes = new Map<string, number>();

  /** The same transport, with its writes counted. */
  counted(transport: Transport): Transport {
    return {
      request: (request) => {
        const { method, path } = request;
        if (method !== 'GET') {
          const what = `${method} ${resourceOf(path)}`;
          this.#writes.set(what, (this.#writes.get(what) ?? 0) + 1);
        }
        return transport.request(request);
      },
      close: () => transport.close(),
    };
  }

  /** Everything since the start, by name. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#writes, ['attempts', this.#attempts()]]);
  }

  #attempts(): number {
    const family = this.metrics.families.find(({ name }) => name === 'scheduler_schedule_attempts_total');
    const values = [...(family?.lines() ?? [])].filter((line) => !line.startsWith('#'));
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }
}

/** `pods/status` of `/api/v1/namespaces/a/pods/b/status`. */
function resourceOf(path: string): string {
  const [, resource = path, subresource] =
    /\/namespaces\/[^/]+\/([^/?]+)(?:\/[^/?]+(?:\/([^?]+))?)?/.exec(path) ?? [];
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
