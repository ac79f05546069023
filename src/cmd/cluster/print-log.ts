// Prints a log, whole or its last lines, and follows it over rotations.
import { open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

type Write = (bytes: Buffer) => unknown;
const blockBytes = 64 << 10;
const lookEveryMs = 200;

async function copyFrom(file: string, from: number, write: Write): Promise<number> {
  const handle = await open(file, 'r');
  try {
    let at = from;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, at);
      if (bytesRead === 0) return at;
      at += bytesRead;
      write(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/** Where the last `lines` lines begin. */
async function startOfLast(file: string, lines: number): Promise<number> {
  const handle = await open(file, 'r');
  try {
    let end = (await handle.stat()).size;
    const size = end;
    let found = 0;
    while (end > 0) {
      const start = Math.max(0, end - blockBytes);
      const block = Buffer.alloc(end - start);
      await handle.read(block, 0, block.length, start);
      for (let i = block.length - 1; i >= 0; i--)
        if (block[i] === 0x0a && start + i < size - 1 && ++found === lines) return start + i + 1;
      end = start;
    }
    return lines === 0 ? size : 0;
  } finally {
    await handle.close();
  }
}

/** Where the print ended: `followLog` goes on there. */
export async function printLog(file: string, tail: number | undefined, write: Write): Promise<number> {
  const start = tail === undefined ? 0 : tail === 0 ? (await stat(file)).size : await startOfLast(file, tail);
  return copyFrom(file, start, write);
}

/** Until the process is ended. A file that became shorter was rotated: it is read from its start. */
export async function followLog(
  file: string,
  from: number,
  write: Write,
  signal?: AbortSignal,
): Promise<void> {
  let at = from;
  while (signal?.aborted !== true) {
    const size = (await stat(file).catch(() => undefined))?.size ?? at;
    if (size < at) at = 0;
    if (size > at) at = await copyFrom(file, at, write);
    await delay(lookEveryMs, undefined, signal ? { signal } : {}).catch(() => undefined);
  }
}
