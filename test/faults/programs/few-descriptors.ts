// Asks for what is loaded late while no file can be opened, and again when some can; says what came of both.
import { closeSync, openSync } from 'node:fs';
import { createMetrics } from '../../../src/component-base/metrics.ts';
import { createYamlThread } from '../../../src/component-base/yaml-thread.ts';

const metrics = createMetrics();
const yaml = createYamlThread();
const held: number[] = [];
const outcome = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => (error as NodeJS.ErrnoException).code ?? String(error),
  );
const ask = (): Promise<string[]> => Promise.all([outcome(metrics.text()), outcome(yaml.read('a: 1'))]);

try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch {
  // No more.
}
const without = await ask();
for (const descriptor of held) closeSync(descriptor);
const after = await ask();
console.log(JSON.stringify({ without, after }));
process.exit(0);
