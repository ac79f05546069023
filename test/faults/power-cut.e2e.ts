// Power cuts: the recorded writes of a store are replayed to their boundaries, with what was not synced lost, kept or torn.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { StorageError } from '../../src/storage/storage-error.ts';
import { openState, randomBatch, seeded } from '../../src/storage/testing/store-model.ts';

// In memory where there is such a folder: what a disk would have is computed here.
const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-cut-'));
after(() => rmSync(path, { recursive: true, force: true }));
const cuts = Number(process.env.PORTHOLE_POWER_CUTS ?? 500);
const batches = 120;

const recorder = join(path, 'disk-recorder.so');
const source = fileURLToPath(new URL('./programs/disk-recorder.c', import.meta.url));
const built = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', recorder, source, '-ldl', '-lpthread']);
assert.equal(built.status, 0, built.stderr?.toString());

interface Operation {
  readonly what: 'o' | 'w' | 't' | 's' | 'u';
  readonly file: string;
  readonly at: number;
  readonly bytes: Buffer;
}

function runRecorded(
  seed: number,
  env: Record<string, string> = {},
): { code: number | null; stdout: string; folder: string; trace: string } {
  const folder = join(path, `run-${seed}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const trace = `${folder}.trace`;
  const script = fileURLToPath(new URL('../../src/storage/testing/recorded-writer.ts', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [script, folder, String(seed), String(batches)], {
    env: { ...process.env, LD_PRELOAD: recorder, RECORD_FOLDER: folder, RECORD_FILE: trace, ...env },
    encoding: 'utf8',
  });
  return { code: status, stdout, folder, trace };
}

function operationsOf(trace: string): Operation[] {
  const bytes = readFileSync(trace);
  const operations: Operation[] = [];
  for (let at = 0; at < bytes.length; ) {
    const what = String.fromCharCode(bytes[at]!) as Operation['what'];
    const named = bytes.readUInt16LE(at + 1);
    const offset = Number(bytes.readBigUInt64LE(at + 3));
    const length = bytes.readUInt32LE(at + 11);
    const file = bytes.toString('utf8', at + 15, at + 15 + named);
    at += 15 + named + length;
    operations.push({ what, file, at: offset, bytes: bytes.subarray(at - length, at) });
  }
  return operations;
}

/** A file as the disk has it, and what is only in memory. */
class DiskFile {
  #durable: Buffer = Buffer.alloc(0);
  #pending: Operation[] = [];

  add(operation: Operation): void {
    if (operation.what !== 's') this.#pending.push(operation);
    else {
      for (const one of this.#pending) this.#durable = applied(this.#durable, one);
      this.#pending = [];
    }
  }

  /** Each sector that was not synced is there or not. */
  afterCut(random: (below: number) => number): Buffer {
    const ends = this.#pending.map((one) => one.at + one.bytes.length);
    const bytes = Buffer.alloc(Math.max(this.#durable.length, ...ends));
    this.#durable.copy(bytes);
    let length = this.#durable.length;
    const keep = random(4);
    for (const { what, at, bytes: written } of this.#pending) {
      if (what === 't' && random(2) === 0) {
        bytes.fill(0, at);
        length = at;
      }
      for (let from = 0; from < written.length; ) {
        const to = Math.min(written.length, from + 512 - ((at + from) % 512));
        if (keep === 3 || (keep > 0 && random(2) === 0)) {
          written.copy(bytes, at + from, from, to);
          length = Math.max(length, at + to);
        }
        from = to;
      }
    }
    return bytes.subarray(0, length);
  }
}

function applied(bytes: Buffer, { what, at, bytes: written }: Operation): Buffer {
  const size = what === 't' ? at : Math.max(bytes.length, at + written.length);
  if (what === 't' && size <= bytes.length) return Buffer.from(bytes.subarray(0, size));
  let result = bytes;
  if (size > bytes.length) {
    result = Buffer.alloc(size);
    bytes.copy(result);
  }
  if (what === 'w') written.copy(result, at);
  return result;
}

/** What the writer had stored at each revision. */
function modelOf(seed: number): Map<number, string> {
  const random = seeded(seed);
  const objects = new Map<string, string>();
  const model = new Map([[1, shown(objects)]]);
  let revision = 1;
  for (let i = 0; i < batches; i++) {
    const batch = randomBatch(random, revision, objects);
    revision = batch.revisions.at(-1)!;
    model.set(revision, shown(objects));
  }
  return model;
}
const shown = (objects: ReadonlyMap<string, string>): string => JSON.stringify([...objects].sort());

interface Outcome {
  cuts: number;
  lost: number;
  refused: number;
}

/** Cuts at `count` boundaries; `ignoredSync`: as if syncs of that file did nothing. */
function cutEverywhere(seed: number, count: number, ignoredSync?: string): Outcome {
  const operations = operationsOf(join(path, `run-${seed}.trace`));
  const model = modelOf(seed);
  const files = new Map<string, DiskFile>();
  const outcome: Outcome = { cuts: 0, lost: 0, refused: 0 };
  const every = Math.max(1, Math.floor(operations.length / count));
  let acked = 1;
  operations.forEach((operation, index) => {
    const name = basename(operation.file);
    if (name === 'acks') {
      if (operation.what === 'w') acked = Number(operation.bytes.toString());
    } else if (operation.file.startsWith('db/') && name !== 'reserve') {
      if (operation.what === 'u') files.delete(name);
      else {
        const file = files.get(name) ?? new DiskFile();
        files.set(name, file);
        if (operation.what !== 'o' && !(operation.what === 's' && name === ignoredSync)) file.add(operation);
      }
    }
    // The store's beginning is short and has no other copy: everywhere.
    if (index % every !== 0 && index > 60) return;
    const random = seeded(index);
    const directory = join(path, 'cut');
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
    for (const [file, disk] of files) writeFileSync(join(directory, file), disk.afterCut(random));
    outcome.cuts++;
    try {
      const found = openState(directory);
      assert.equal(shown(found.objects), model.get(found.revision), `at ${index}: not a state that was`);
      if (found.revision < acked) outcome.lost++;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      outcome.refused++;
      if (ignoredSync === undefined)
        assert.fail(`at ${index}, a ${operation.what} of ${operation.file}: ${error.message}`);
    }
  });
  return outcome;
}

test('a power cut at any boundary loses nothing that was acknowledged, and the store opens', (context) => {
  const total: Outcome = { cuts: 0, lost: 0, refused: 0 };
  for (const seed of [1, 2]) {
    const { code, stdout } = runRecorded(seed);
    assert.equal(code, 0, stdout);
    const { cuts: made, lost, refused } = cutEverywhere(seed, cuts / 2);
    total.cuts += made;
    total.lost += lost;
    total.refused += refused;
  }
  context.diagnostic(`${total.cuts} power cuts`);
  assert.ok(total.cuts >= cuts);
  assert.deepEqual({ lost: total.lost, refused: total.refused }, { lost: 0, refused: 0 });
});

test('the power cuts find a store that does not sync its journal', (context) => {
  const outcome = cutEverywhere(1, 80, 'journal');
  context.diagnostic(JSON.stringify(outcome));
  assert.ok(outcome.lost + outcome.refused > 0);
});

test('after a sync that fails nothing is acknowledged any more, and what was is there', (context) => {
  let struck = 0;
  for (const nth of [3, 4, 9, 30, 61]) {
    const { code, stdout, folder } = runRecorded(3, { FAIL_NAME: '/journal', FAIL_SYNC: String(nth) });
    assert.equal(code, 3, `sync ${nth}`);
    assert.equal(stdout, 'Broken\n');
    struck++;
    const acked = Number(readFileSync(join(folder, 'acks'), 'utf8').trim().split('\n').at(-1) || 1);
    const found = openState(join(folder, 'db'));
    assert.ok(found.revision >= acked);
    assert.equal(shown(found.objects), modelOf(3).get(found.revision));
  }
  context.diagnostic(`${struck} failed syncs`);
});
