// A scheduler that follows a cluster in which there is nothing to place, in a process of its own.
// usage: node follow.js DATA-DIR SERVER. Says "ready" when it knows everything; "collect" has the garbage collected.
import { silentLog } from '../../src/api/log.js';
import { makeEventRecorder } from '../../src/client/eventRecorder.js';
import { openHttps } from '../../src/client/httpTransport.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { openClient } from '../../src/client/typedClient.js';
import { layoutOf } from '../../src/cluster/layout.js';
import { Scheduler } from '../../src/scheduler/scheduler.js';
import { benchPki } from '../controllers/controlPlane.js';

const SETTLE_MS = 2_000;
const [folder = '', server = ''] = process.argv.slice(2);
const { ca, admin } = await benchPki(layoutOf(folder));
const client = openClient(openHttps({ server, ca: ca.cert, ...admin }));
const informers = openInformers(client);
const recorder = makeEventRecorder(client, { component: 'default-scheduler' });
const { signal } = new AbortController();
void new Scheduler({ client, informers, recorder, log: silentLog, signal, slimPods: true }).run();
// The scheduler first asks which kinds the server has; only then are all its informers there.
await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
await informers.synced();
process.on('message', () => {
  (globalThis as { gc?: () => void }).gc?.();
  process.send?.('collected');
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
