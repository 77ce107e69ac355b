// What a pod of the probes' and hooks' tests runs: HTTP, HTTPS, TCP and gRPC health, answering as it was told last.
// Guarantees: tells on /journal what it was asked and how it answered; needs nothing that it would have to write.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';

const [, , certificate, first] = process.argv;
const journal = [];
/** By path, or by the name of a service of gRPC: what is answered next, the last one for ever. */
const answers = new Map(Object.entries(JSON.parse(first)));
const next = (key, otherwise) => {
  const left = answers.get(key) ?? [otherwise];
  return left.length > 1 ? left.shift() : left[0];
};

/** `/answer?to=/live&with=200,500`, `/listen?port=7000`, `/journal`, `/exit?code=3`; all else is journalled. */
function serve(request, response) {
  const url = new URL(request.url, 'http://pod');
  const query = Object.fromEntries(url.searchParams);
  if (url.pathname === '/journal') return response.end(JSON.stringify(journal));
  if (url.pathname === '/answer') answers.set(query.to, query.with.split(',').map(Number));
  else if (url.pathname === '/listen') net.createServer((socket) => socket.end()).listen(Number(query.port));
  else if (url.pathname === '/exit') setTimeout(() => process.exit(Number(query.code)), 50);
  else {
    const status = next(url.pathname, 200);
    journal.push({
      path: url.pathname,
      status,
      headers: request.headers,
      isSecure: request.socket.encrypted === true,
    });
    if (status === 0) return undefined; // heard, and never answered
    response.statusCode = status;
    if (status === 302) response.setHeader('location', 'http://elsewhere.invalid/');
  }
  return response.end();
}

/** HealthCheckRequest and HealthCheckResponse have one field each: the service's name, its state. */
const health = {
  Check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestDeserialize: (bytes) => ({ service: bytes.subarray(2).toString() }),
    responseSerialize: (state) => Buffer.from([0x08, state]),
  },
};
const grpc = new Server();
grpc.addService(health, {
  Check: (call, done) => {
    const { service } = call.request;
    const status = next(service, 1);
    journal.push({ path: service, status, headers: call.metadata.toJSON() });
    done(null, status);
  },
});

const pem = readFileSync(certificate);
https.createServer({ key: pem, cert: pem }, serve).listen(8443);
grpc.bindAsync('0.0.0.0:9090', ServerCredentials.createInsecure(), () => {
  // Last: who is answered here finds the others open.
  http.createServer(serve).listen(8080);
});
