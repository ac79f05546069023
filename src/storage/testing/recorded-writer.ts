// A child process of the power-cut test: a store that is written, compacted, checkpointed and opened again. Run as a script.
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../component-base/system-random.ts';
import { DurableStore } from '../sqlite/durable-store.ts';
import { randomBatch, seeded } from './store-model.ts';

const [directory, seed, batches] = [process.argv[2]!, Number(process.argv[3]), Number(process.argv[4])];
const acks = openSync(join(directory, 'acks'), 'w');
const random = seeded(seed);
const objects = new Map<string, string>();
const open = (): DurableStore => {
  const store = new DurableStore(join(directory, 'db'), systemRandom, { checkpointBytes: 150_000 });
  store.start();
  return store;
};
let store = open();
for (let i = 0; i < batches; i++) {
  try {
    store.write(randomBatch(random, store.revision(), objects));
    writeSync(acks, `${store.revision()}\n`);
    if (i % 10 === 5) store.rest();
    if (i % 20 === 9) while (store.compactSome(store.revision() - 15));
    if (i % 4 === 2) store.settle();
  } catch (error) {
    process.stdout.write(`${(error as Error & { code: string }).code}\n`);
    process.exit(3);
  }
  if (i % 70 === 60) {
    store.close();
    store = open();
  }
}
process.exit(0);
