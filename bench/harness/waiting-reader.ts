// Another user: asks for one small object again and again, and tells how long each answer took. A process of its own.
import { quantile } from '../bench.ts';
import { overHttp2, session } from './connection.ts';
import type { Target } from './load-job.ts';

const everyMs = 5;
const { target, path } = JSON.parse(process.argv[2]!) as { readonly target: Target; readonly path: string };
const connected = session(target);
const ask = overHttp2(connected, target);

const took: number[] = [];
let over = false;
process.stdin.resume();
process.stdin.once('end', () => {
  over = true;
});
await ask({ path });
process.stdout.write('ready\n');
while (!over) {
  const before = performance.now();
  const { status } = await ask({ path });
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  took.push(performance.now() - before);
  await new Promise((resolve) => setTimeout(resolve, everyMs));
}
connected.close();
process.stdout.write(
  `${JSON.stringify({ count: took.length, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99), maxMs: Math.max(...took) })}\n`,
);
