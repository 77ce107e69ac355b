// One mode at one size, in a process of its own so that its memory is its own; prints its row as one line of JSON.
// usage: node one.js CONTENDER SERVICES CONNECTIONS
import { type Contender, measure } from './measure.js';

const [contender = '', services, connections] = process.argv.slice(2);
const row = await measure(JSON.parse(contender) as Contender, Number(services), Number(connections));
console.log(JSON.stringify(row));
process.exit(0);
