// Reading a log: lines, choice of lines, and following through a rotation.
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { parseLogLine } from '../cri-log-line.ts';
import { type LogOptions, streamLog } from './container-log-stream.ts';

const line = (second: number, text: string, tag = 'F', stream = 'stdout'): string =>
  `2026-01-01T00:00:0${second}.5Z ${stream} ${tag} ${text}\n`;
const none: LogOptions = {
  follow: false,
  timestamps: false,
  tailLines: undefined,
  limitBytes: undefined,
  sinceMs: undefined,
  stream: undefined,
};

function logFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, '0.log'), text);
  return join(folder, '0.log');
}

async function read(path: string, options: Partial<LogOptions>, isRunning = () => false): Promise<string> {
  let text = '';
  const deps = { files: linuxFiles, clock: systemClock, isRunning };
  for await (const piece of streamLog(deps, path, { ...none, ...options }, AbortSignal.timeout(5000)))
    text += piece;
  return text;
}

test('a log line has time, stream, tag and text; other lines are none', () => {
  assert.equal(parseLogLine(Buffer.from('t stdout P x y'))?.partial, true);
  assert.equal(parseLogLine(Buffer.from('t stdout P x y'))?.text.toString(), 'x y');
  for (const bad of ['', 'x', 't stdin F x', 'a b']) assert.equal(parseLogLine(Buffer.from(bad)), undefined);
});

test('tail, since, limit, stream and timestamps choose what is shown', async (t) => {
  const path = logFile(
    t,
    line(1, 'one') + line(2, 'two', 'P') + line(2, '-half') + line(3, 'err', 'F', 'stderr'),
  );
  assert.equal(await read(path, {}), 'one\ntwo-half\nerr\n');
  assert.equal(await read(path, { tailLines: 1 }), 'err\n');
  assert.equal(await read(path, { tailLines: 0 }), '');
  assert.equal(await read(path, { tailLines: 99 }), 'one\ntwo-half\nerr\n');
  assert.equal(await read(path, { sinceMs: Date.parse('2026-01-01T00:00:02Z') }), 'two-half\nerr\n');
  assert.equal(await read(path, { limitBytes: 5 }), 'one\nt');
  assert.equal(await read(path, { stream: 'stderr' }), 'err\n');
  assert.equal(await read(path, { tailLines: 1, timestamps: true }), '2026-01-01T00:00:03.5Z err\n');
  assert.equal(await read(`${path}.none`, {}), '');
});

test('following goes on in the new file after a rotation and ends with the container', async (t) => {
  const path = logFile(t, line(1, 'one'));
  let looks = 0;
  const text = await read(path, { follow: true }, () => {
    looks++;
    if (looks === 2) {
      renameSync(path, `${path}.old`);
      writeFileSync(path, line(2, 'two'));
    }
    return looks < 6;
  });
  assert.equal(text, 'one\ntwo\n');
});
