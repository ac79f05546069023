// One line of a container's log as the runtime writes it: time, stream, tags, text.

export interface LogLine {
  readonly time: string;
  readonly stream: string;
  /** A part of a longer line: no line feed follows. */
  readonly partial: boolean;
  readonly text: Buffer;
}

/** `2026-01-01T00:00:00.000000000Z stdout F text`; undefined when it is no such line. */
export function parseLogLine(line: Buffer): LogLine | undefined {
  const first = line.indexOf(0x20);
  const second = line.indexOf(0x20, first + 1);
  if (first < 0 || second < 0) return undefined;
  const third = line.indexOf(0x20, second + 1);
  const tags = line.subarray(second + 1, third < 0 ? line.length : third).toString('latin1');
  const stream = line.subarray(first + 1, second).toString('latin1');
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  return {
    time: line.subarray(0, first).toString('latin1'),
    stream,
    partial: tags.split(':')[0] === 'P',
    text: third < 0 ? Buffer.alloc(0) : line.subarray(third + 1),
  };
}
