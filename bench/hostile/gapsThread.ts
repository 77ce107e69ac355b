// The thread of gaps.ts: asks one path of a server again and again, and tells how long each answer took.
import https from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';
import { type Asked, EVERY_MS } from './gaps.js';

const { tls, port, path } = workerData as Asked;
const agent = new https.Agent({ ...tls, keepAlive: true, maxSockets: 1 });
const ask = () =>
  new Promise<void>((resolve, reject) => {
    const request = https.get({ agent, host: '127.0.0.1', port, path }, (response) => {
      response.resume().once('end', resolve);
    });
    request.once('error', reject);
  });
let taken: number[] = [];
let isWanted = false;
parentPort?.on('message', () => {
  isWanted = true;
});
await ask();
parentPort?.postMessage([]);
for (;;) {
  const started = performance.now();
  await ask();
  taken.push(performance.now() - started);
  if (isWanted) {
    isWanted = false;
    parentPort?.postMessage(taken);
    taken = [];
  }
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, started + EVERY_MS - performance.now())));
}
