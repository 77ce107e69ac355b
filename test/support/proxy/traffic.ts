// Traffic for tests of a proxy: a server that says which address was reached, a counting client, a long download.
// Guarantees: every process started here is gone when the test ends, also when it fails.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { childProcesses } from '../childProcesses.js';
import type { TestNetNs } from '../netns.js';

/** Answers "who" with the address and port that were reached; "stream" with numbers, one every few milliseconds. */
const SERVER = `
const net = require('node:net');
const server = net.createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', (asked) => {
    if (String(asked).startsWith('who')) return socket.end(socket.localAddress + ':' + socket.localPort);
    let n = 0;
    const timer = setInterval(() => socket.write(String(n++) + '\\n'), 5);
    socket.on('close', () => clearInterval(timer));
  });
});
server.listen(8080, '0.0.0.0', 1024, () => console.log('ready'));
`;

/** Asks "who" many times, a few at once; prints how often each answered, and how many did not. */
const ASK = `
const net = require('node:net');
const [host, port, count, width] = [process.argv[1], ...process.argv.slice(2).map(Number)];
const answers = {};
let [begun, failed] = [0, 0];
const next = () => begun++ >= count ? undefined : new Promise((resolve) => {
  let text = '';
  const socket = net.connect(port, host, () => socket.write('who'));
  socket.setTimeout(20000, () => socket.destroy(new Error('timeout')));
  socket.on('data', (chunk) => { text += chunk; }).on('error', () => { text = ''; }).on('close', () => {
    if (text === '') failed += 1; else answers[text] = (answers[text] ?? 0) + 1;
    resolve();
  });
}).then(next);
Promise.all(Array.from({ length: width }, next)).then(() => console.log(JSON.stringify({ answers, failed })));
`;

/** Reads numbers until its standard input ends, and some more; prints how many came, in order, over one connection. */
const DOWNLOAD = `
const net = require('node:net');
let [text, wanted, last] = ['', 0, Infinity];
const fail = (why) => { console.log(JSON.stringify({ broken: why, numbers: wanted })); process.exit(); };
const socket = net.connect(Number(process.argv[2]), process.argv[1], () => socket.write('stream'));
socket.on('error', (error) => fail(String(error))).on('end', () => fail('ended early')).on('data', (chunk) => {
  const lines = (text + chunk).split('\\n');
  text = lines.pop();
  for (const line of lines) { if (Number(line) !== wanted) fail(line + ' instead of ' + wanted); wanted += 1; }
  if (wanted > 0 && wanted <= lines.length) console.log('"flowing"');
  if (wanted < last) return;
  console.log(JSON.stringify({ numbers: wanted }));
  process.exit();
});
process.stdin.on('end', () => { last = wanted + 20; }).resume();
`;

interface Answers {
  readonly answers: Readonly<Record<string, number>>;
  readonly failed: number;
}

interface Download {
  /** Ends it after some more numbers; tells how many came, and what broke it if anything did. */
  end(): Promise<{ readonly numbers: number; readonly broken?: string }>;
}

/** To be called once in a test file. */
export function traffic() {
  const children = childProcesses();
  const start = (ns: TestNetNs, script: string, ...args: readonly (string | number)[]) => {
    const child = spawn(
      'nsenter',
      [`--net=${ns.path}`, process.execPath, '-e', script, ...args.map(String)],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  };
  const lineOf = async (lines: AsyncIterator<string>) => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the process ended without a word');
    return value;
  };
  return {
    async serve(ns: TestNetNs): Promise<void> {
      await lineOf(start(ns, SERVER).lines);
    },
    async ask(from: TestNetNs, host: string, port: number, count: number, width = 8): Promise<Answers> {
      return JSON.parse(await lineOf(start(from, ASK, host, port, count, width).lines)) as Answers;
    },
    async download(from: TestNetNs, host: string, port: number): Promise<Download> {
      const { child, lines } = start(from, DOWNLOAD, host, port);
      const first = await lineOf(lines);
      if (first !== '"flowing"') throw new Error(`the download did not begin: ${first}`);
      return {
        async end() {
          child.stdin.end();
          let last = await lineOf(lines);
          while (last === '"flowing"') last = await lineOf(lines);
          return JSON.parse(last) as { numbers: number; broken?: string };
        },
      };
    },
  };
}

/** How far counts are from all being equal: chi-square, with one degree of freedom less than there are counts. */
export function chiSquare(counts: readonly number[]): number {
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
}
