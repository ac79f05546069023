// Flipped bits, cuts and swapped files of a store that was killed: all of it is there, or the store says that it is not.
import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { DurableStore } from '../../src/storage/sqlite/durable-store.ts';
import { readStore } from '../../src/storage/sqlite/read-store.ts';
import { StorageError } from '../../src/storage/storage-error.ts';
import {
  assertSameState,
  openState,
  randomBatch,
  type StoreState,
  seeded,
  stateOf,
  textOf,
} from '../../src/storage/testing/store-model.ts';

// In memory where there is such a folder: what is damaged here is what was written, synced or not.
const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'store-damage-'));
after(() => rmSync(root, { recursive: true, force: true }));
const rounds = Number(process.env.PORTHOLE_FAULT_ROUNDS ?? 1);
let count = 0;
const newDirectory = (): string => join(root, `store-${count++}`);

const files = { wal: 'state.db-wal', database: 'state.db', journal: 'journal' } as const;
type File = keyof typeof files;

interface Killed {
  /** Its files as `kill -9` leaves them. */
  readonly directory: string;
  readonly state: StoreState;
}

/** `rested`: long enough before the kill for the last write to be noted as acknowledged. */
function killedStore(seed: number, options: { rested: boolean; checkpoint: boolean }): Killed {
  const random = seeded(seed);
  const live = newDirectory();
  let store = new DurableStore(live, systemRandom);
  store.start();
  const objects = new Map<string, string>();
  const write = (batches: number): void => {
    for (let i = 0; i < batches; i++) store.write(randomBatch(random, store.revision(), objects));
  };
  write(20);
  store.compactSome(store.revision() - 20);
  if (options.checkpoint) {
    // What an earlier run wrote is in the database file alone.
    store.close();
    store = new DurableStore(live, systemRandom);
    store.start();
  }
  write(25);
  if (options.rested) store.rest();
  else store.settle();
  // At rest a long log is emptied: what is damaged below must be there.
  assert.ok(statSync(join(live, files.wal)).size > 100_000);
  const state = stateOf(store);
  assert.deepEqual([...state.objects].sort(), [...objects].sort());
  const directory = newDirectory();
  cpSync(live, directory, { recursive: true });
  store.close();
  rmSync(live, { recursive: true });
  return { directory, state };
}

function flip(directory: string, file: File, random: (below: number) => number): void {
  const path = join(directory, files[file]);
  const bytes = readFileSync(path);
  const at = random(bytes.length);
  bytes[at] = bytes[at]! ^ (1 << random(8));
  writeFileSync(path, bytes);
}

function cut(directory: string, file: File, random: (below: number) => number): void {
  const path = join(directory, files[file]);
  truncateSync(path, random(statSync(path).size));
}

const contents = (directory: string): ReadonlyMap<string, number> =>
  new Map(readdirSync(directory).map((name) => [name, crc32(readFileSync(join(directory, name)))]));

/** X8: as `backup` and `repair` of a stopped server read it; the code of the error when they refuse. */
function readAlone(directory: string): unknown {
  try {
    const { revision, entries } = readStore(directory);
    const objects = entries.map((entry) => [entry.key, textOf(entry)]);
    return { revision, objects: objects.sort() };
  } catch (error) {
    assert.ok(error instanceof StorageError, String(error));
    return error.code;
  }
}

/** SQLite makes its index anew from its log, whoever reads. */
const withoutIndex = (files: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...files].filter(([name]) => name !== 'state.db-shm');

type Answer = 'whole' | 'refused';

/** Whole, or refused with the next step; anything else fails. */
function answerOf(killed: Killed, damage: (directory: string) => void, what: string): Answer {
  const directory = newDirectory();
  cpSync(killed.directory, directory, { recursive: true });
  damage(directory);
  const before = contents(directory);
  const read = readAlone(directory);
  assert.deepEqual(withoutIndex(contents(directory)), withoutIndex(before), `${what}: read, yet changed`);
  try {
    assertSameState(openState(directory), killed.state, what);
    assert.deepEqual(read, { revision: killed.state.revision, objects: [...killed.state.objects].sort() });
    // What was healed stays so.
    assertSameState(openState(directory), killed.state, `${what}, opened again`);
    return 'whole';
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    assert.ok(error.code === 'Corrupt' || error.code === 'Lost', `${what}: ${error.code} ${error.message}`);
    assert.match(error.message, /porthole restore.*porthole repair.*nothing was changed/);
    assert.deepEqual(contents(directory), before, `${what}: refused, yet changed`);
    assert.equal(read, error.code, `${what}: whoever only reads says the same`);
    return 'refused';
  } finally {
    rmSync(directory, { recursive: true });
  }
}

for (const file of ['wal', 'journal'] as const)
  test(`a flipped bit or a cut in ${files[file]} loses nothing: the other copy has it`, (context) => {
    const answers = { whole: 0, refused: 0 };
    for (let i = 0; i < 120 * rounds; i++) {
      const random = seeded(1_000 + i);
      const killed = i % 40 === 0 ? killedStore(i, { rested: i % 80 === 0, checkpoint: true }) : kept!;
      kept = killed;
      const harm = i % 3 === 2 ? cut : flip;
      const answer = answerOf(killed, (d) => harm(d, file, random), `${harm.name} ${i} of ${file}`);
      answers[answer]++;
      // Of the journal only its two slots have no other copy than each other: a cut may take both.
      if (file === 'wal' || harm === flip) assert.equal(answer, 'whole', `${harm.name} ${i}`);
    }
    context.diagnostic(`${answers.whole + answers.refused} strikes: ${JSON.stringify(answers)}`);
    assert.ok(answers.whole > answers.refused);
  });
let kept: Killed | undefined;

test('damage to both copies is refused, never served short', (context) => {
  const killed = killedStore(7, { rested: true, checkpoint: true });
  const answers = { whole: 0, refused: 0 };
  for (let i = 0; i < 120 * rounds; i++) {
    const random = seeded(2_000 + i);
    const damage = (directory: string): void => {
      for (const file of ['wal', 'journal'] as const) (random(2) === 0 ? cut : flip)(directory, file, random);
    };
    answers[answerOf(killed, damage, `double damage ${i}`)]++;
  }
  context.diagnostic(`${answers.whole + answers.refused} strikes: ${JSON.stringify(answers)}`);
  assert.ok(answers.refused > 0);
});

test('the tail missing from both copies is said with both revisions', () => {
  const killed = killedStore(8, { rested: true, checkpoint: true });
  const directory = newDirectory();
  cpSync(killed.directory, directory, { recursive: true });
  truncateSync(join(directory, files.wal), 0);
  truncateSync(join(directory, files.journal), 5 * 4_096);
  assert.throws(
    () => openState(directory),
    (error: StorageError) => {
      assert.equal(error.code, 'Lost');
      const text = `ends at revision (\\d+), but revision ${killed.state.revision} was acknowledged`;
      assert.match(error.message, new RegExp(text));
      return true;
    },
  );
});

test('a flipped bit or a cut in state.db is refused or harms nothing', (context) => {
  const answers = { whole: 0, refused: 0 };
  for (let i = 0; i < 240 * rounds; i++) {
    const random = seeded(3_000 + i);
    if (i % 60 === 0) kept = killedStore(i, { rested: true, checkpoint: true });
    const harm = i % 4 === 3 ? cut : flip;
    answers[answerOf(kept!, (d) => harm(d, 'database', random), `${harm.name} ${i} of state.db`)]++;
  }
  context.diagnostic(`${answers.whole + answers.refused} strikes: ${JSON.stringify(answers)}`);
  assert.ok(answers.refused > 0);
});

const foreign = killedStore(99, { rested: true, checkpoint: true });
const older = killedStore(98, { rested: true, checkpoint: false });
const rows: readonly [what: string, damage: (directory: string) => void, expected: Answer][] = [
  ['state.db is empty', (d) => truncateSync(join(d, files.database), 0), 'refused'],
  [
    'state.db and its log are gone',
    (d) => {
      for (const file of [files.database, files.wal]) rmSync(join(d, file));
    },
    'refused',
  ],
  [
    'state.db is another store’s',
    (d) => copyFileSync(join(foreign.directory, files.database), join(d, files.database)),
    'refused',
  ],
  ['state.db-wal is empty', (d) => truncateSync(join(d, files.wal), 0), 'whole'],
  ['state.db-wal is gone', (d) => rmSync(join(d, files.wal)), 'whole'],
  [
    'state.db-wal is another store’s',
    (d) => copyFileSync(join(foreign.directory, files.wal), join(d, files.wal)),
    'refused',
  ],
  [
    'a state.db-shm that nobody made',
    (d) => writeFileSync(join(d, 'state.db-shm'), 'x'.repeat(40_000)),
    'whole',
  ],
  ['the journal is empty', (d) => truncateSync(join(d, files.journal), 0), 'refused'],
  ['the journal is gone', (d) => rmSync(join(d, files.journal)), 'refused'],
  [
    'the journal is another store’s',
    (d) => copyFileSync(join(foreign.directory, files.journal), join(d, files.journal)),
    'refused',
  ],
  ['the marker is gone', (d) => rmSync(join(d, 'format')), 'whole'],
  [
    'the marker and state.db are gone',
    (d) => {
      for (const file of ['format', files.database, files.wal]) rmSync(join(d, file));
    },
    'refused',
  ],
  [
    'the whole folder is another store’s but for the journal',
    (d) => {
      for (const f of [files.database, files.wal]) copyFileSync(join(older.directory, f), join(d, f));
    },
    'refused',
  ],
];
for (const [what, damage, expected] of rows)
  test(`a store of which ${what}: ${expected}`, () => {
    const killed = killedStore(50, { rested: true, checkpoint: true });
    assert.equal(answerOf(killed, damage, what), expected);
  });

test('a file or a folder that can’t be opened is an error of the system, not damage', () => {
  const killed = killedStore(51, { rested: true, checkpoint: true });
  for (const file of [files.database, files.journal]) {
    const path = join(killed.directory, file);
    renameSync(path, `${path}.kept`);
    mkdirSync(path);
    assert.throws(
      () => openState(killed.directory),
      (error: StorageError) =>
        error.code === 'WriteFailed' && /^cannot open the store in /.test(error.message),
    );
    rmSync(path, { recursive: true });
    renameSync(`${path}.kept`, path);
  }
  assertSameState(openState(killed.directory), killed.state, 'put back');
  const file = newDirectory();
  writeFileSync(file, '');
  assert.throws(
    () => openState(file),
    (error: StorageError) => error.code === 'WriteFailed',
  );
  assert.ok(existsSync(file));
});
