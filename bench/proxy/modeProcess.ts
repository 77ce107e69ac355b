// One mode at one size, in a process of its own so that its memory is its own; prints its run as one line of JSON.
// usage: node modeProcess.js CONTENDER SERVICES CONNECTIONS NODE      NODE: the namespace that it runs in
import { type Contender, measure } from './measure.js';

const [contender = '', services, connections, node = ''] = process.argv.slice(2);
const run = await measure(JSON.parse(contender) as Contender, {
  services: Number(services),
  connections: Number(connections),
  node,
});
console.log(JSON.stringify(run));
process.exit(0);
