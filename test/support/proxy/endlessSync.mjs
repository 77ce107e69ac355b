// A process that syncs many services over and over in a namespace, until somebody ends it. Runs what was built.
// usage: node endlessSync.mjs MODE NAMESPACE SERVICES [BACKEND]
import { workload } from '../../../dist/bench/proxy/workload.js';
import { openMode } from '../../../dist/src/proxy/modes.js';

const [name, netns, services, backend = 'nft'] = process.argv.slice(2);
const options = {
  table: 'trellis-proxy',
  families: ['ip'],
  traffic: { ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' } } },
  backend,
  netns,
};
for (;;) {
  const mode = await openMode(name, options);
  console.log('begins');
  await mode.sync(workload(Number(services), { ip: '10.244.0.9', ports: [8080, 8081] }));
  mode.close();
}
