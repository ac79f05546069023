// Reads a container's log in the CRI's format, from the end or a time, and follows it over rotations.
import type { Clock } from '../../base/clock.ts';
import type { Files, OpenFile } from '../../os/files.ts';
import { type LogLine, parseLogLine } from '../cri-log-line.ts';

export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly sinceMs: number | undefined;
  readonly stream: 'stdout' | 'stderr' | undefined;
}

export interface LogDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly isRunning: () => boolean;
}

const blockBytes = 64 << 10;
/** A line without an end is cut here, so that it can't fill the memory. */
const maxLineBytes = 1 << 20;
const followMs = 200;

/** Where the last `lines` whole lines begin; parts of a line count as one. */
async function tailStart(file: OpenFile, lines: number): Promise<number> {
  const size = (await file.stat()).sizeBytes;
  if (lines === 0) return size;
  let found = 0;
  let end = size;
  while (end > 0) {
    const start = Math.max(end - blockBytes, 0);
    const block = await file.readAt(start, end - start);
    for (let i = block.length - 1; i >= 0; i--) {
      if (block[i] !== 0x0a || start + i === size - 1) continue;
      found++;
      if (found === lines) return start + i + 1;
    }
    end = start;
  }
  return 0;
}

function render(line: LogLine, options: LogOptions): Buffer {
  const parts: Uint8Array[] = [];
  if (options.timestamps) parts.push(Buffer.from(`${line.time} `));
  parts.push(line.text);
  if (!line.partial) parts.push(Buffer.from('\n'));
  return Buffer.concat(parts);
}

/** Splits what is read into lines; keeps the rest for the next block. */
class LineSplitter {
  #rest: Buffer = Buffer.alloc(0);
  *lines(block: Buffer): Generator<Buffer> {
    let data = this.#rest.length > 0 ? Buffer.concat([this.#rest, block]) : block;
    for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a)) {
      yield data.subarray(0, end);
      data = data.subarray(end + 1);
    }
    if (data.length > maxLineBytes) {
      yield data;
      data = Buffer.alloc(0);
    }
    this.#rest = data;
  }
}

async function pause(deps: LogDeps, signal: AbortSignal): Promise<boolean> {
  try {
    await deps.clock.sleep(followMs, signal);
    return true;
  } catch {
    return false; // nobody reads any more
  }
}

/** The file that now has this name, when it is another one than the one that is open. */
async function rotated(files: Files, path: string, open: OpenFile): Promise<OpenFile | undefined> {
  const now = await files.stat(path);
  const held = await open.stat();
  if (!now || now.inode === held.inode) return undefined;
  return files.open(path);
}

export async function* streamLog(
  deps: LogDeps,
  path: string,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  if ((await deps.files.stat(path))?.kind !== 'file') return;
  let file = await deps.files.open(path);
  try {
    let position = options.tailLines === undefined ? 0 : await tailStart(file, options.tailLines);
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    const splitter = new LineSplitter();
    while (!signal.aborted && left > 0) {
      // Asked before the read: what is written until the end is then still read.
      const running = options.follow && deps.isRunning();
      const block = await file.readAt(position, blockBytes);
      position += block.length;
      const out: Buffer[] = [];
      for (const raw of splitter.lines(block)) {
        const line = parseLogLine(raw);
        if (!line || left <= 0) continue;
        if (options.stream && line.stream !== options.stream) continue;
        if (options.sinceMs !== undefined && Date.parse(line.time) < options.sinceMs) continue;
        const bytes = render(line, options).subarray(0, left);
        left -= bytes.length;
        out.push(bytes);
      }
      if (out.length > 0) yield Buffer.concat(out);
      if (block.length > 0) continue;
      const next = await rotated(deps.files, path, file);
      if (next && options.follow) {
        const old = file;
        file = next;
        position = 0;
        await old.close();
        continue;
      }
      await next?.close();
      if (!running || !(await pause(deps, signal))) return;
    }
  } finally {
    await file.close();
  }
}
