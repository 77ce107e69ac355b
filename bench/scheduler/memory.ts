import { againstLimit, type Figure } from '../lib/figure.js';
export async function memory(): Promise<Figure[]> {
  return [againstLimit({ name: 'x', unit: 'MB', samples: [1] }, 300)];
}
