// Parts of stock Kubernetes and of Trellis mixed: each part on the server of the other, then handed over and back under load.
// Guarantees: whatever changes hands, nothing restarts, nothing is made twice, and no request to a Service fails.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.js';
import { type Maker, NODE, type Part, StockMachine } from './machine.js';
import { readyPods, revisions, SERVICE, serviceAt, WORKLOADS } from './workloads.js';

const PODS = 4;
/** The kubelet last: what it restarts would be seen in the others' rows. */
const PARTS: readonly Part[] = ['controller-manager', 'scheduler', 'proxy', 'kubelet'];
const other = (maker: Maker): Maker => (maker === 'stock' ? 'trellis' : 'stock');

describe.each<Maker>(['stock', 'trellis'])('on the API server of %s', (server) => {
  let machine: StockMachine;
  const holders = new Map<Part, Maker>();
  const started = async (part: Part, maker: Maker) => {
    await machine.startPart(part, maker);
    holders.set(part, maker);
  };
  /** A failure with the last lines of what may have caused it. */
  const told = async <T>(parts: readonly Part[], work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const lines = parts.map((part) => `--- ${part} of ${holders.get(part)}:\n${machine.output(part)}`);
      throw new Error(`${error instanceof Error ? error.message : error}\n${lines.join('\n')}`, {
        cause: error,
      });
    }
  };

  beforeAll(async () => {
    machine = await StockMachine.start();
    await told(['apiserver'], () => started('apiserver', server));
  });
  afterAll(() => machine?.stop());

  const guest = other(server);
  test(`controller-manager of ${guest}`, () =>
    told(['controller-manager', 'apiserver'], async () => {
      await started('controller-manager', guest);
      await until(() => machine.get('serviceaccount', 'default'));
      await until(() => machine.get('configmap', 'kube-root-ca.crt'));
      await machine.apply(...WORKLOADS);
      await until(async () => {
        const { items } = await machine.get<{ items: readonly unknown[] }>('pods');
        // Of the DaemonSet there is none before there is a node.
        expect(items).toHaveLength(PODS - 1);
      });
    }));

  test(`kubelet of ${guest}`, () =>
    told(['kubelet', 'apiserver'], async () => {
      await started('kubelet', guest);
      await until(async () => {
        const shown = await machine.kubectl('get', 'node', NODE, '--no-headers');
        expect(shown).toMatch(/ Ready /);
      });
    }));

  test(`scheduler of ${guest}`, () =>
    told(['scheduler', 'kubelet', 'controller-manager'], async () => {
      await started('scheduler', guest);
      await until(() => readyPods(machine, PODS));
    }));

  test(`proxy of ${guest}`, () =>
    told(['proxy', 'controller-manager'], async () => {
      await started('proxy', guest);
      await machine.underLoad(SERVICE, () =>
        until(() => {
          expect(machine.answers().answered).toBeGreaterThan(5);
        }),
      );
    }));

  describe.each(PARTS)('%s handed over', (part) => {
    test.each<readonly [string, Maker]>([
      [`from ${guest} to ${server}`, server],
      [`and back to ${guest}`, guest],
    ])('%s', (_, next) =>
      told([part, 'apiserver'], async () => {
        const pods = await until(() => readyPods(machine, PODS));
        const made = await revisions(machine);
        await machine.underLoad(SERVICE, async () => {
          await machine.endPart(part);
          await started(part, next);
          await works(machine, part);
          expect(await until(() => readyPods(machine, PODS))).toEqual(pods);
          expect(await revisions(machine)).toEqual(made);
        });
        expect(machine.answers()).toEqual({ answered: expect.any(Number), failed: [] });
      }),
    );
  });
});

/** What only the named part can have done since it was started. */
async function works(machine: StockMachine, part: Part): Promise<void> {
  if (part === 'proxy') return serves(machine);
  const pod = (name: string) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default' },
    spec: {
      ttlSecondsAfterFinished: 0,
      template: {
        spec: {
          restartPolicy: 'Never',
          dnsPolicy: 'Default',
          containers: [
            {
              name: 'main',
              image: 'localhost/trellis/busybox:test',
              imagePullPolicy: 'IfNotPresent',
              command: ['/bin/echo', 'done'],
            },
          ],
        },
      },
    },
  });
  const name = `proof-${part}-${Date.now()}`;
  await machine.apply(pod(name));
  // Made by the controllers, placed by the scheduler, run by the kubelet, and cleared away when it has ended.
  await until(async () => {
    const left = await machine.kubectl('get', 'job,pod', '-l', `job-name=${name}`, '-o', 'name');
    const job = await machine.kubectl('get', 'job', name, '--ignore-not-found', '-o', 'name');
    expect(`${left}${job}`).toBe('');
  });
}

/** A Service that is younger than the proxy is known to this one alone. */
async function serves(machine: StockMachine): Promise<void> {
  const address = '10.96.0.81';
  await machine.apply(serviceAt('proof', address));
  await until(async () => {
    expect(await machine.run('sh', '-c', `busybox nc -w 2 ${address} 80 </dev/null`)).toContain('hello');
  });
  await machine.kubectl('delete', 'service', 'proof');
  // Its slice goes with it, by the controllers.
  await until(async () => {
    const slices = await machine.kubectl(
      'get',
      'endpointslices',
      '-l',
      'kubernetes.io/service-name=proof',
      '-o',
      'name',
    );
    expect(slices).toBe('');
  });
}
