// Another user: asks for one small object again and again, and tells how long each answer took. A process of its own.
import { connect } from 'node:http2';
import { quantile } from '../bench.ts';
import type { Target } from './load-job.ts';

const everyMs = 5;
const { target, path } = JSON.parse(process.argv[2]!) as { readonly target: Target; readonly path: string };
const session = connect(target.origin, { ca: target.ca });

const ask = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, authorization: `Bearer ${target.token}` });
    let status = 0;
    stream.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    stream.resume();
    stream.on('end', () => resolve(status));
    stream.on('error', reject);
  });

const took: number[] = [];
let over = false;
process.stdin.resume();
process.stdin.once('end', () => {
  over = true;
});
await ask();
process.stdout.write('ready\n');
while (!over) {
  const before = performance.now();
  const status = await ask();
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  took.push(performance.now() - before);
  await new Promise((resolve) => setTimeout(resolve, everyMs));
}
session.close();
process.stdout.write(
  `${JSON.stringify({ count: took.length, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99), maxMs: Math.max(...took) })}\n`,
);
