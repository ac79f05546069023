// npm run fix: everything that `npm run check` can repair, repaired.
import { spawnSync } from 'node:child_process';

const commands: readonly (readonly string[])[] = [
  [process.execPath, 'tools/gen/all.ts'],
  ['node_modules/.bin/biome', 'check', '--write', '.'],
];
for (const [program, ...args] of commands) {
  const { status } = spawnSync(program!, args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
