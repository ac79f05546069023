// An exit code is read from a file that a container can write: bounded, and from nowhere else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { forgetExitCode, readExitCode } from './exit-code.ts';

test('an exit code is read within bounds: no link, pipe, folder or terabyte in its place is followed or loaded', async (t) => {
  const state = mkdtempSync(join(tmpdir(), 'exit-code-'));
  t.after(() => rmSync(state, { recursive: true }));
  const codes = join(state, 'exit-codes');
  mkdirSync(codes);
  const at = (id: string): string => join(codes, id);
  const read = (id: string): Promise<number | undefined> => readExitCode(linuxFiles, state, id);
  writeFileSync(at('a'), '1000\n');
  writeFileSync(at('b'), '3221225786');
  assert.deepEqual([await read('a'), await read('b')], [1000, 0xc000013a | 0]);
  symlinkSync(at('a'), at('c'));
  execFileSync('mkfifo', [at('d')]);
  mkdirSync(at('e'));
  writeFileSync(at('f'), '7');
  truncateSync(at('f'), 2 ** 40);
  writeFileSync(at('0'), '');
  for (const id of ['c', 'd', 'e', 'f', '0', '9', '../exit-codes/a', 'A'])
    assert.equal(await read(id), undefined, id);
  for (const id of ['a', 'gone', '../exit-codes/b']) await forgetExitCode(linuxFiles, state, id);
  assert.deepEqual([await read('a'), await read('b')], [undefined, 0xc000013a | 0]);
});
