// The sweep: every command of kubectl/sweep.txt run against one server, and all that is printed compared with that file.
// Its lines are what a stock Kubernetes 1.36 server shows, but for those in stock.txt beside it (see test/stock/sweep.test.ts);
// `vitest -u` writes what was seen, for a person to read the diff.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { FLOW_SCHEMAS } from '../../../src/api/resources.js';
import { reconcileFlowControl } from '../../../src/apiserver/flowControl/reconcile.js';
import { type Kubectl, kubectlMinor, openKubectl } from '../../support/kubectl.js';
import { runSweep, sweepBlock, sweepSteps } from '../../support/kubectlSweep.js';
import { describeWith } from '../../support/requires.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const GOLDEN = path.join(import.meta.dirname, 'kubectl/sweep.txt');

describeWith({ tools: ['kubectl'] }, 'the sweep of kubectl', () => {
  let api: SecuredApiServer;
  let kubectl: Kubectl;
  let stopFlowControl = () => {};
  beforeAll(async () => {
    api = await startSecuredApiServer();
    const { client, informers } = api;
    stopFlowControl = reconcileFlowControl({ client, informers, log: silentLog });
    await until(async () => {
      const { items } = await client.of(FLOW_SCHEMAS).list();
      expect(items.map(({ status }) => status?.conditions?.length)).toEqual(items.map(() => 1));
    });
    const admin = await api.pki.client('admin', 'system:masters');
    kubectl = await openKubectl(api.url, api.pki.ca, admin);
  });
  afterAll(async () => {
    await kubectl?.close();
    stopFlowControl();
    await api?.close();
  });

  test('prints what the file says', async () => {
    const { head, steps } = sweepSteps(await readFile(GOLDEN, 'utf8'));
    const printed = await runSweep(kubectl, kubectlMinor(), steps);
    const text = steps.map((step, at) => sweepBlock(step, printed[at] ?? '')).join('');
    await expect(`${head}${text}`).toMatchFileSnapshot(GOLDEN);
    expect(steps.length).toBeGreaterThan(200);
  }, 600_000);
});
