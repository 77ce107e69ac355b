// The fake rtnetlink keeps the contract.
import { FakeRoute } from '../../../../src/kernel/route/fake.js';
import { routeContract } from '../../../support/contracts/route.js';

routeContract('FakeRoute', async () => ({ port: new FakeRoute(), dispose: async () => undefined }));
