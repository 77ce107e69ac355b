// One mode at one size, in a process of its own so that its memory is its own; prints its row as one line of JSON.
// usage: node one.js CONTENDER SERVICES CONNECTIONS [NODE]      NODE: the namespace that it runs in already
import { type Contender, measure } from './measure.js';

const [contender = '', services, connections, node] = process.argv.slice(2);
const row = await measure(JSON.parse(contender) as Contender, {
  services: Number(services),
  connections: Number(connections),
  ...(node === undefined ? {} : { node }),
});
console.log(JSON.stringify(row));
process.exit(0);
