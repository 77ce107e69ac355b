// IPVS in memory keeps the contract of the port.
import { FakeIpvs } from '../../../../src/kernel/ipvs/fake.js';
import { ipvsContract } from '../../../support/contracts/ipvs.js';

ipvsContract('the fake', async () => ({ port: new FakeIpvs(), dispose: async () => undefined }));
