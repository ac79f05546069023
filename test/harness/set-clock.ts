// A wall clock for child processes that can be set while they run (Debian's faketime); what measures time goes on.
import { renameSync, writeFileSync } from 'node:fs';

export interface SetClock {
  /** What a process is started with to go by it. */
  readonly env: Readonly<Record<string, string>>;
  /** Seconds that the clock is ahead of the machine's; below zero it is behind. */
  readonly shift: number;
  set(shift: number): void;
}

/** `file` says what the clock is; processes look there each time. */
export function setClock(file: string): SetClock {
  let shift = 0;
  const set = (seconds: number): void => {
    // Whole at any moment: a reader that finds half a line goes by the machine's clock.
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${file}.new`, file);
    shift = seconds;
  };
  set(0);
  return {
    env: {
      // The loader puts the machine's own folder for $LIB.
      LD_PRELOAD: '/usr/$LIB/faketime/libfaketimeMT.so.1',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    get shift() {
      return shift;
    },
    set,
  };
}
