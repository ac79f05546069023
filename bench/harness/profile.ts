// Loaded into a server by BENCH_PROFILE: each of its threads writes what its time went to when it ends.
// Node does not take --cpu-prof from its environment, and the launcher's own flags are to stay the launcher's.
import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

const directory = process.env.BENCH_PROFILE;
if (directory !== undefined) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  // At once, in this thread: nothing can be waited for any more.
  process.on('exit', () =>
    session.post('Profiler.stop', (error, stopped) => {
      if (error) throw error;
      mkdirSync(directory, { recursive: true });
      const file = join(directory, `cpu.${process.pid}.${threadId}.cpuprofile`);
      writeFileSync(file, JSON.stringify(stopped.profile));
    }),
  );
}
