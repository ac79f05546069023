// Opens a store as a server does, and says what it found, or why it did not.
import { argv } from 'node:process';
import { openState } from '../../../src/storage/testing/store-model.ts';

try {
  const { revision, objects } = openState(argv[2]!);
  console.log(`revision ${revision}, ${objects.size} objects`);
} catch (error) {
  console.log(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
