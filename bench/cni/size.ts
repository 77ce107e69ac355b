// What the plugins cost a node beside time: memory of a call, disk, and what they need of the host.
// Guarantees: memory is the kernel's own account (ru_maxrss of wait4); static means no interpreter, without which nothing is loaded.
import { readFileSync, statSync } from 'node:fs';
import { inTurns } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { MB } from '../lib/process.js';
import { BenchNode } from './node.js';
import { EXECUTABLE, PLUGINS, REFERENCE } from './plugins.js';

const RUNS = 3;
const PT_INTERP = 3;

async function peakMemory(plugins: string): Promise<number> {
  const node = await BenchNode.make({ plugins, pods: 1, ipMasq: true });
  try {
    const outcomes = [...(await node.add('one')), ...(await node.del())];
    return Math.max(...outcomes.map(({ peakBytes }) => peakBytes)) / MB;
  } finally {
    await node.remove();
  }
}

export async function memory(): Promise<Figure[]> {
  const [samples, peerSamples] = await inTurns(
    runsOf(RUNS),
    () => peakMemory(PLUGINS),
    () => peakMemory(REFERENCE),
  );
  const figure = { name: 'peak memory of one call', samples, unit: 'MB' };
  return [againstLimit(figure, 4), againstPeer({ ...figure, peer: 'reference plugins', peerSamples }, 1)];
}

/** How many headers of a 64-bit ELF file ask for a loader. */
function loaderHeaders(file: string): number {
  const elf = readFileSync(file);
  const [start, size, count] = [
    Number(elf.readBigUInt64LE(0x20)),
    elf.readUInt16LE(0x36),
    elf.readUInt16LE(0x38),
  ];
  const types = Array.from({ length: count }, (_, i) => elf.readUInt32LE(start + i * size));
  return types.filter((type) => type === PT_INTERP).length;
}

export async function executable(): Promise<Figure[]> {
  return [
    againstLimit({ name: 'the executable', samples: [statSync(EXECUTABLE).size / MB], unit: 'MB' }, 3),
    againstLimit({ name: 'what it loads', samples: [loaderHeaders(EXECUTABLE)], unit: 'headers' }, 0),
  ];
}
