// A backup as bytes: a line that says what it is, then objects and files with their checksums, then a sum over all of it.
import { crc32 } from 'node:zlib';
import type { Key, Revision } from '../storage.ts';

export interface BackupEntry {
  readonly key: Key;
  readonly revision: Revision;
  readonly value: Uint8Array;
  /** What is left of its lease. Absent: it stays. */
  readonly remainingMs?: number | undefined;
}
export interface BackupFile {
  /** Below the data directory: `pki/ca.crt`. */
  readonly name: string;
  readonly text: string;
}
export interface Backup {
  /** The store's revision that it shows. */
  readonly revision: Revision;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly entries: readonly BackupEntry[];
  readonly files: readonly BackupFile[];
}

const title = 'porthole-backup 1';
/** Chunks of about this size: many objects are small. */
const chunkBytes = 256 << 10;

export function* encodeBackup({
  revision,
  createdAt,
  entries,
  files,
}: Backup): Generator<Buffer, void, void> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let sum = 0;
  const add = (bytes: Uint8Array): void => {
    parts.push(bytes);
    size += bytes.length;
    sum = crc32(bytes, sum);
  };
  const frame = (head: object, bytes: Uint8Array): void => {
    add(Buffer.from(`${JSON.stringify({ ...head, length: bytes.length, checksum: crc32(bytes) })}\n`));
    add(bytes);
    add(newline);
  };
  add(Buffer.from(`${title} ${JSON.stringify({ revision, createdAt })}\n`));
  for (const entry of entries) {
    frame({ key: entry.key, revision: entry.revision, remainingMs: entry.remainingMs }, entry.value);
    if (size < chunkBytes) continue;
    yield Buffer.concat(parts);
    parts = [];
    size = 0;
  }
  for (const { name, text } of files) frame({ file: name }, Buffer.from(text));
  const end = { end: true, objects: entries.length, files: files.length, checksum: sum };
  parts.push(Buffer.from(`${JSON.stringify(end)}\n`));
  yield Buffer.concat(parts);
}

const newline = Buffer.from('\n');

interface Head {
  readonly key?: string;
  readonly revision?: number;
  readonly remainingMs?: number;
  readonly file?: string;
  readonly length?: number;
  readonly checksum?: number;
  readonly end?: true;
  readonly objects?: number;
  readonly files?: number;
}

/** Throws Error that says what is wrong with it. */
export function decodeBackup(bytes: Buffer): Backup {
  const [first, start] = lineAt(bytes, 0);
  if (!first.startsWith(`${title} `)) throw new Error('this is not a backup of porthole');
  const { revision, createdAt } = parsed<{ revision: number; createdAt: string }>(
    first.slice(title.length + 1),
  );
  checkRevision(revision, mostRevision, 'its revision');
  const entries: BackupEntry[] = [];
  const files: BackupFile[] = [];
  const keys = new Set<string>();
  for (let at = start; ; ) {
    const [line, from] = lineAt(bytes, at);
    const head = parsed<Head>(line);
    if (head.end === true) {
      checkEnd(head, entries.length, files.length, crc32(bytes.subarray(0, at)));
      if (from !== bytes.length) throw new Error('there is something behind the end of the backup');
      return { revision, createdAt, entries, files };
    }
    const value = bytes.subarray(from, from + (head.length ?? 0));
    if (value.length !== head.length || crc32(value) !== head.checksum)
      throw new Error(`the backup is damaged: the checksum of ${head.key ?? head.file} is wrong`);
    if (head.file !== undefined) files.push({ name: head.file, text: value.toString() });
    else entries.push({ ...placeOf(head, revision, keys), value });
    at = from + value.length + 1;
  }
}

/** What is put back goes on a billion further, and has as far to go again and again. */
const mostRevision = Number.MAX_SAFE_INTEGER / 2;

function checkRevision(revision: unknown, most: number, whose: string): asserts revision is number {
  if (!Number.isSafeInteger(revision) || (revision as number) < 1 || (revision as number) > most)
    throw new Error(`the backup is damaged: ${whose} is ${JSON.stringify(revision)}`);
}

/** Nobody would be told of a change before a revision that is ahead of the store's. */
function placeOf(
  { key, revision, remainingMs }: Head,
  most: Revision,
  keys: Set<string>,
): Omit<BackupEntry, 'value'> {
  if (typeof key !== 'string' || !key.startsWith('/'))
    throw new Error(`the backup is damaged: ${JSON.stringify(key)} is no key`);
  if (keys.has(key)) throw new Error(`the backup is damaged: ${key} is in it twice`);
  keys.add(key);
  checkRevision(revision, most, `the revision of ${key}`);
  if (remainingMs === undefined) return { key, revision };
  if (!Number.isSafeInteger(remainingMs) || remainingMs < 1)
    throw new Error(`the backup is damaged: the lease of ${key} is ${JSON.stringify(remainingMs)}`);
  return { key, revision, remainingMs };
}

function checkEnd(head: Head, objects: number, files: number, sum: number): void {
  if (head.objects !== objects || head.files !== files || head.checksum !== sum)
    throw new Error('the backup is damaged: the sum over all of it is wrong');
}

function lineAt(bytes: Buffer, at: number): [line: string, next: number] {
  const end = bytes.indexOf(0x0a, at);
  if (end < 0) throw new Error('the backup is cut off');
  return [bytes.toString('utf8', at, end), end + 1];
}

function parsed<T>(line: string): T {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // As one that says something else.
  }
  if (typeof value !== 'object' || value === null)
    throw new Error('the backup is damaged: a line of it cannot be read');
  return value as T;
}
