// How long a hostile request of an ordinary user keeps everybody else waiting: /livez is asked all the while.
// Guarantees: a gap is the time of one question, from its sending to its answer, seen by a process of its own.
import { makePlace } from '../apiserver/place.js';
import { corpus } from './corpus.js';
import { prepare } from './user.js';

const only = process.argv[2];
const place = await makePlace();
try {
  const server = await place.start('apiserver');
  const { user: ordinary } = await prepare(place, server.port);
  const rows: { name: string; status: number; ms: number; cpu: number; why: string }[] = [];
  for (const request of corpus()) {
    if (only !== undefined && !request.name.includes(only)) continue;
    const body = request.body();
    const before = server.processorUs();
    const started = performance.now();
    const { status, text } = await ordinary.ask(request, body).catch((e) => ({ status: 0, text: String(e) }));
    const ms = performance.now() - started;
    const cpu = (server.processorUs() - before) / 1000;
    rows.push({ name: request.name, status, ms, cpu, why: text.slice(0, 160) });
    if (cpu > 100 || only)
      console.log(
        `${cpu.toFixed(0).padStart(6)} ms cpu ${ms.toFixed(0).padStart(6)} ms  ${status}  ${request.name}  ${body.length}  ${text.slice(0, 130).replaceAll('\n', ' ')}`,
      );
  }
  console.log(rows.length, 'requests');
} finally {
  await place.clean();
}
