// IPVS is measured where the kernel has it: this boots the virtual machine and brings its figures back.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figure } from '../lib/figure.js';
import { runTool } from '../lib/tool.js';

const guest = join(dirname(fileURLToPath(import.meta.url)), 'ipvsGuest.js');

export async function ipvs(): Promise<Figure[]> {
  const output = await runTool([process.execPath, 'scripts/vm/run.mjs', '--', process.execPath, guest]);
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Figure[];
}
