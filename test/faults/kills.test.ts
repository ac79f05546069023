// kill -9, again and again: every acknowledged write is there, every other is absent or whole, and history has no gap.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openState, type StoreState, seeded } from '../../src/storage/testing/store-model.ts';

// A killed process leaves its writes to the system: memory is as good as a disk here, and does not wait for others' syncs.
const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'kills-'));
after(() => rmSync(root, { recursive: true, force: true }));
const kills = Number(process.env.PORTHOLE_KILLS ?? 40);

interface Acked {
  readonly key: string;
  readonly revision: number;
  /** `-`: deleted. */
  readonly text: string;
}

const script = fileURLToPath(new URL('../../src/storage/testing/crash-writer.ts', import.meta.url));

/** Sixteen writers until `lines` writes were acknowledged, then SIGKILL; what was told by then. */
async function writeAndKill(directory: string, round: number, lines: number): Promise<Acked[]> {
  const child = spawn(process.execPath, [script, directory, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    if (output.split('\n').length > lines) child.kill('SIGKILL');
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL', `round ${round} ended by itself`);
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' '))
    .map(([key, revision, text]) => ({ key: key!, revision: Number(revision), text: text! }));
}

function checkRound(acked: readonly Acked[], found: StoreState, log: Map<number, string>): void {
  let last = 0;
  const latest = new Map<string, number>();
  for (const line of found.history) {
    const [revision, key] = [Number(line.split(' ', 1)[0]), line.slice(line.indexOf(' ') + 1)];
    assert.ok(revision > last, `history goes from ${last} to ${revision}`);
    last = revision;
    latest.set(key, revision);
    // A revision never means two writes, however often the writer was killed.
    assert.equal(log.get(revision) ?? key, key, `revision ${revision} was given out twice`);
    log.set(revision, key);
  }
  const newest = new Map(acked.map((one) => [one.key, one]));
  for (const { key, revision } of acked)
    assert.equal(log.get(revision), key, `${key} at ${revision} is gone`);
  for (const { key, revision, text } of newest.values()) {
    // The one write that was under way may have become durable without being told.
    if (latest.get(key)! > revision) continue;
    const state = found.objects.get(key);
    if (text === '-') assert.equal(state, undefined, `${key} was deleted at ${revision}`);
    else
      assert.ok(state?.startsWith(`${revision} `) && state.endsWith(`"data":"${text}"}`), `${key} ${state}`);
  }
}

test('after each of many kills all that was acknowledged is there, and no revision was given out twice', async (context) => {
  const directory = join(root, 'store');
  const random = seeded(11);
  const log = new Map<number, string>();
  let revision = 1;
  let writes = 0;
  for (let round = 0; round < kills; round++) {
    const acked = await writeAndKill(directory, round, 1 + random(300));
    writes += acked.length;
    const found = openState(directory);
    assert.ok(found.revision > revision);
    revision = found.revision;
    checkRound(acked, found, log);
  }
  context.diagnostic(`${kills} kills, ${writes} acknowledged writes, ${log.size} revisions`);
});
