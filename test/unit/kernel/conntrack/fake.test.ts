import { describe } from 'vitest';
import { FakeConntrack } from '../../../../src/kernel/conntrack/fake.js';
import { conntrackContract } from '../../../support/contracts/conntrack.js';

describe('FakeConntrack', () => conntrackContract(async () => new FakeConntrack()));
