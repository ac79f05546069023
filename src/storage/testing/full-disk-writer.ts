// A child process of the full-disk test: writes until writing fails, then shows that reading goes on. Run as a script.
import { openSqliteStorage } from '../sqlite/sqlite-storage.ts';
import { draftOf } from './storage-conformance.ts';

// The limit on file sizes then shows as an error of the write, as a full disk does.
process.on('SIGXFSZ', () => {});
const storage = await openSqliteStorage({ directory: process.argv[2]! });
let acked = 0;
let failure = '';
while (failure === '' && acked < 10_000)
  try {
    await storage.create(`/registry/a/${acked}`, draftOf('x'.repeat(20_000)));
    acked++;
  } catch (error) {
    failure = `${(error as Error & { code: string }).code}: ${(error as Error).message}`;
  }
const { entries, revision } = await storage.list('/registry/');
process.stdout.write(`${JSON.stringify({ acked, failure, listed: entries.length, revision })}\n`);
process.exit(0);
