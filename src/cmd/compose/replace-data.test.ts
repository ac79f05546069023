// Parts of a data directory are exchanged wholly, wherever whoever did it was ended.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { endExchange, exchange } from './replace-data.ts';

const names = ['db', 'pki'];

test('an exchange that was begun is ended from each of its steps; one that was only prepared is forgotten', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'porthole-exchange-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const plan = names.map((name) => ({ name, aside: `${name}.before` }));
  const ready = join(scratch, 'ready');
  for (const name of names)
    for (const [folder, text] of [
      [name, 'old'],
      [`${name}.new`, 'new'],
    ] as const) {
      mkdirSync(join(ready, folder), { recursive: true });
      writeFileSync(join(ready, folder, 'file'), text);
    }
  writeFileSync(join(ready, 'contents.json'), '{}');
  const textIn = (dir: string, name: string): string => readFileSync(join(dir, name, 'file'), 'utf8');

  const prepared = join(scratch, 'prepared');
  cpSync(ready, prepared, { recursive: true });
  writeFileSync(join(prepared, 'replacing.json.new'), '[{"na');
  assert.equal(endExchange(prepared, names), false);
  for (const name of names) assert.equal(textIn(prepared, name), 'old');
  for (const left of ['db.new', 'replacing.json.new']) assert.ok(!existsSync(join(prepared, left)), left);

  const steps: readonly (readonly [string, string])[] = [
    ['db', 'db.before'],
    ['db.new', 'db'],
    ['pki', 'pki.before'],
    ['pki.new', 'pki'],
  ];
  for (let done = 0; done <= steps.length; done++) {
    const dir = join(scratch, `after-${done}`);
    cpSync(ready, dir, { recursive: true });
    writeFileSync(join(dir, 'replacing.json'), JSON.stringify(plan));
    for (const [from, to] of steps.slice(0, done)) renameSync(join(dir, from), join(dir, to));
    assert.equal(endExchange(dir, names), true);
    for (const name of names) {
      assert.equal(textIn(dir, name), 'new', `${name} after ${done} steps`);
      assert.equal(textIn(dir, `${name}.before`), 'old', `${name} after ${done} steps`);
    }
    assert.ok(!existsSync(join(dir, 'contents.json')));
    assert.equal(endExchange(dir, names), false);
  }
  exchange(ready, plan);
  for (const name of names) assert.equal(textIn(ready, name), 'new');
});
