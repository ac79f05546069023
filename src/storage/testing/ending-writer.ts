// A writer thread that ends when a key asks for it: as one that ran out of memory, or that was torn down.
import { parentPort } from 'node:worker_threads';
import type { ToWriter } from '../sqlite/writer-protocol.ts';

parentPort?.on('message', (message: ToWriter) => {
  if (message.type !== 'batch') return;
  if (message.keys.some((key) => key.endsWith('/exit'))) process.exit(0);
  // After this batch was acknowledged: nobody waits for anything.
  if (message.keys.some((key) => key.endsWith('/throw')))
    setImmediate(() => {
      throw Object.assign(
        new Error('Worker terminated due to reaching memory limit: JS heap out of memory'),
        {
          code: 'ERR_WORKER_OUT_OF_MEMORY',
        },
      );
    });
});

// After the listener above: it hears each message first.
await import('../sqlite/sqlite-writer.ts');
