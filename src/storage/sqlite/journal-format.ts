// The bytes of the journal: two slots that name a generation, then records of batches, each on blocks of its own.
import { crc32 } from 'node:zlib';
import type { Batch } from './batch.ts';
import { lastRevision } from './batch.ts';

/** Records and slots begin at multiples of this, so that a torn write reaches nothing that was synced before. */
export const blockSize = 4_096;
export const slotCount = 2;
export const recordsStart: number = slotCount * blockSize;

/** A generation begins when everything before it is in the database file; its records carry its salt. */
export interface Slot {
  readonly store: string;
  readonly generation: number;
  readonly salt: string;
  /** The database file holds everything up to here. */
  readonly base: number;
  /** Told to a writer: known some time after, when nothing is written. */
  readonly acknowledged: number;
}

export interface JournalRecord {
  readonly sequence: number;
  /** The store's revision before this batch. */
  readonly prior: number;
  readonly batch: Batch;
}

const slotMagic = 0x504a5331;
const recordMagic = 0x504a5231;
const slotBytes = 64;
const headerBytes = 64;
const rowBytes = 25;
/** Behind the value of a row that has a lease: what is left of it. */
const leaseBytes = 8;
const isPut = 1;
const hasLease = 2;

/** `store` and `salt`: 16 hexadecimal digits each. */
export function encodeSlot(slot: Slot): Buffer {
  const block = Buffer.alloc(blockSize);
  block.writeUInt32LE(slotMagic, 0);
  block.write(slot.store, 8, 'hex');
  block.write(slot.salt, 16, 'hex');
  block.writeDoubleLE(slot.generation, 24);
  block.writeDoubleLE(slot.base, 32);
  block.writeDoubleLE(slot.acknowledged, 40);
  block.writeUInt32LE(crc32(block.subarray(8, slotBytes)), 4);
  return block;
}

export function decodeSlot(bytes: Buffer, at: number): Slot | undefined {
  if (bytes.length < at + slotBytes || bytes.readUInt32LE(at) !== slotMagic) return undefined;
  if (crc32(bytes.subarray(at + 8, at + slotBytes)) !== bytes.readUInt32LE(at + 4)) return undefined;
  return {
    store: bytes.toString('hex', at + 8, at + 16),
    salt: bytes.toString('hex', at + 16, at + 24),
    generation: bytes.readDoubleLE(at + 24),
    base: bytes.readDoubleLE(at + 32),
    acknowledged: bytes.readDoubleLE(at + 40),
  };
}

/** Whole blocks. The salt is a secret of the store: a value that looks like a record is not taken for one. */
export function encodeRecord(salt: string, sequence: number, prior: number, batch: Batch): Buffer {
  const count = batch.keys.length;
  let payload = batch.values.length + count * rowBytes;
  for (const key of batch.keys) payload += Buffer.byteLength(key);
  const remaining = batch.leases?.remainingMs;
  for (const ms of remaining ?? []) if (ms > 0) payload += leaseBytes;
  const record = Buffer.allocUnsafe(Math.ceil((headerBytes + payload) / blockSize) * blockSize);
  let at = headerBytes;
  let from = 0;
  for (let i = 0; i < count; i++) {
    const length = batch.lengths[i]!;
    const keyLength = record.write(batch.keys[i]!, at + rowBytes);
    record.writeUInt32LE(keyLength, at);
    record.writeUInt32LE(length, at + 4);
    record.writeDoubleLE(batch.revisions[i]!, at + 8);
    record.writeDoubleLE(batch.previous[i]!, at + 16);
    const ms = remaining?.[i] ?? 0;
    record[at + 24] = batch.puts[i]! | (ms > 0 ? hasLease : 0);
    record.set(batch.values.subarray(from, from + length), at + rowBytes + keyLength);
    at += rowBytes + keyLength + length;
    from += length;
    if (ms > 0) at = record.writeDoubleLE(ms, at);
  }
  record.fill(0, at);
  record.fill(0, 0, headerBytes);
  record.writeUInt32LE(recordMagic, 0);
  record.write(salt, 8, 'hex');
  record.writeUInt32LE(sequence, 16);
  record.writeUInt32LE(payload, 20);
  record.writeDoubleLE(prior, 24);
  record.writeDoubleLE(lastRevision(batch), 32);
  record.writeUInt32LE(crc32(record.subarray(headerBytes, headerBytes + payload)), 40);
  record.writeUInt32LE(count, 44);
  record.writeUInt32LE(crc32(record.subarray(8, headerBytes)), 4);
  return record;
}

/** The record of this generation that begins at `at`, and the place after it; undefined when there is none, or a damaged one. */
export function decodeRecord(
  bytes: Buffer,
  at: number,
  salt: string,
): { readonly record: JournalRecord; readonly end: number } | undefined {
  if (bytes.length < at + headerBytes || bytes.readUInt32LE(at) !== recordMagic) return undefined;
  if (crc32(bytes.subarray(at + 8, at + headerBytes)) !== bytes.readUInt32LE(at + 4)) return undefined;
  if (bytes.toString('hex', at + 8, at + 16) !== salt) return undefined;
  const start = at + headerBytes;
  const payload = bytes.subarray(start, start + bytes.readUInt32LE(at + 20));
  if (payload.length !== bytes.readUInt32LE(at + 20)) return undefined;
  if (crc32(payload) !== bytes.readUInt32LE(at + 40)) return undefined;
  const batch = decodeBatch(payload, bytes.readUInt32LE(at + 44));
  return {
    record: { sequence: bytes.readUInt32LE(at + 16), prior: bytes.readDoubleLE(at + 24), batch },
    end: at + Math.ceil((headerBytes + payload.length) / blockSize) * blockSize,
  };
}

function decodeBatch(payload: Buffer, count: number): Batch {
  const keys: string[] = [];
  const puts = new Uint8Array(count);
  const revisions = new Float64Array(count);
  const previous = new Float64Array(count);
  const lengths = new Uint32Array(count);
  const values: Buffer[] = [];
  const remainingMs = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const keyLength = payload.readUInt32LE(at);
    lengths[i] = payload.readUInt32LE(at + 4);
    revisions[i] = payload.readDoubleLE(at + 8);
    previous[i] = payload.readDoubleLE(at + 16);
    const flags = payload[at + 24]!;
    puts[i] = flags & isPut;
    at += rowBytes;
    keys.push(payload.toString('utf8', at, at + keyLength));
    at += keyLength;
    values.push(payload.subarray(at, at + lengths[i]!));
    at += lengths[i]!;
    if ((flags & hasLease) === 0) continue;
    remainingMs[i] = payload.readDoubleLE(at);
    at += leaseBytes;
  }
  const leases = remainingMs.some((ms) => ms > 0) ? { remainingMs } : undefined;
  return { keys, puts, revisions, previous, lengths, values: Buffer.concat(values), leases };
}
