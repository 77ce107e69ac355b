// The client's contract over both ways to reach a server: a real socket and a direct call.
import { clientContract } from '../../support/contracts/client.js';
import { openDirect, openHttp } from '../../support/scriptedServer.js';

clientContract('HTTP', openHttp);
clientContract('a direct call', openDirect);
