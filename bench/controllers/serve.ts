// The control plane of `trellis up` in a process of its own: store, apiserver, controllers and scheduler.
// usage: node serve.js <data directory> <port>. Says "ready" by a message, ends on TERM.
import { silentLog } from '../../src/api/log.js';
import { layoutOf } from '../../src/cluster/layout.js';
import { runServer } from '../../src/cluster/server.js';
import { defaultSettings } from '../../src/cluster/settings.js';

const [folder = '', port = ''] = process.argv.slice(2);
const ending = new AbortController();
process.on('SIGTERM', () => ending.abort());
process.on('disconnect', () => process.exit(1));
await runServer({
  layout: layoutOf(folder),
  // Room for the pods of 5,000 nodes and the addresses of as many Services.
  settings: { ...defaultSettings('bench'), clusterCidr: '10.128.0.0/9', securePort: Number(port) },
  nodeIps: ['127.0.0.1'],
  signal: ending.signal,
  sink: (step) => {
    if (step.type === 'done' && step.name === 'cluster policy') process.send?.('ready');
  },
  log: silentLog,
});
process.exit(0);
