// A mode in a process of its own, in the namespace it was started in: for modes that listen. Runs what was built.
// usage: node modeProcess.mjs MODE BACKEND; takes lines of JSON: {traffic, state} to sync,
// {ask: 'check'}, {ask: 'forget'} or {ask: 'setServiceCidrs', of}, {} to clean up; answers each.
import { createInterface } from 'node:readline';
import { openMode } from '../../../dist/src/proxy/modes.js';

const [name, backend] = process.argv.slice(2);
let mode;
for await (const line of createInterface({ input: process.stdin })) {
  const { traffic, state, ask, of } = JSON.parse(line);
  if (ask !== undefined) {
    console.log(JSON.stringify((await mode?.[ask](of)) ?? true));
    continue;
  }
  if (state === undefined) {
    await mode.cleanUp();
    mode.close();
    mode = undefined;
  } else {
    mode ??= await openMode(name, { table: 'trellis-proxy', families: ['ip', 'ip6'], traffic, backend });
    await mode.sync(new Map(state));
  }
  console.log('done');
}
