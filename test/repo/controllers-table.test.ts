// docs/CONFORMANCE.md names every controller of upstream's: those that run, and of the others why not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { upstreamControllers } from '../../src/controllers/upstream-controllers.ts';

test('the table of controllers is that of the code', () => {
  const text = readFileSync('docs/CONFORMANCE.md', 'utf8').split('\n## Controllers\n')[1] ?? '';
  const [running = '', others = ''] = text.split('| the others |');
  for (const { name, absent } of upstreamControllers)
    if (absent === undefined) assert.ok(running.includes(`\`${name}\``), `${name} is not said to run`);
    else assert.ok(others.includes(`| \`${name}\` | ${absent} |`), `${name} is not said to be absent`);
});
