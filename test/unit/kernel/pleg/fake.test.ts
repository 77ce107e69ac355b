import { describe } from 'vitest';
import { FakePleg } from '../../../../src/kernel/pleg/fake.js';
import { plegContract } from '../../../support/contracts/pleg.js';

describe('the fake pod lifecycle event generator', () => plegContract(() => new FakePleg()));
