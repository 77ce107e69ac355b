// One server of a cluster as a process: `serverChild.mjs <data directory> [<lease times as JSON>]`. Its log is on stderr.

import { makeLog } from '../../dist/src/cli/log.js';
import { layoutOf } from '../../dist/src/cluster/layout.js';
import { runServer } from '../../dist/src/cluster/server.js';
import { readSettings } from '../../dist/src/cluster/settings.js';

const [, , folder, times] = process.argv;
const layout = layoutOf(folder);
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());
await runServer({
  layout,
  settings: await readSettings(layout),
  nodeIps: ['127.0.0.1'],
  sink: () => {},
  log: makeLog({ component: 'server' }),
  signal: ending.signal,
  ...(times === undefined ? {} : { leaseTimes: JSON.parse(times) }),
});
process.exit(0);
