import { describe } from 'vitest';
import { openPleg } from '../../../src/kernel/pleg/adapter.js';
import { plegContract } from '../../support/contracts/pleg.js';

describe('the native pod lifecycle event generator', () => plegContract(openPleg));
