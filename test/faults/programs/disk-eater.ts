// Fills a disk as a runaway program does: it never stops trying, so that what somebody frees is gone a moment later.
import { openSync, writeSync } from 'node:fs';
import { argv } from 'node:process';

const file = openSync(argv[2]!, 'a');
const some = Buffer.alloc(64 << 10);
for (let told = false; ; ) {
  try {
    writeSync(file, some);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    if (!told) console.log('full');
    told = true;
  }
}
