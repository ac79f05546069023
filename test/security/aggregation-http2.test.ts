// The same as with a server that speaks HTTP/1.1, with one that speaks HTTP/2.
import { extensionProtocol } from '../harness/extension-server.ts';

extensionProtocol.usual = 'h2';
await import('./suites/aggregation.ts');
