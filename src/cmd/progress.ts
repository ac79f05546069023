// Tells a person what is going on: a line a step, rewritten in place on a terminal.

export interface Progress {
  /** Runs a step and shows how long it took. `detail` replaces the text shown while it runs. */
  step<T>(text: string, run: (detail: (text: string) => void) => Promise<T>): Promise<T>;
  /** A line of its own. */
  say(text: string): void;
}

export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** A log is told of a step's details no more often than this. */
const quietMs = 2_000;
const clearLine = '\r\u001b[K';

export const progressOnStderr = (): Progress => createProgress(process.stderr, () => performance.now());

export function createProgress(output: ProgressOutput, now: () => number): Progress {
  let running: string | undefined;
  const show = (text: string): void => {
    running = text;
    if (output.isTTY) output.write(`${clearLine}  … ${text}`);
  };
  const line = (text: string): void => {
    output.write(output.isTTY ? `${clearLine}${text}\n` : `${text}\n`);
    if (running !== undefined && output.isTTY) output.write(`  … ${running}`);
  };
  return {
    say: line,
    step: async (text, run) => {
      const from = now();
      show(text);
      let lastDetail = '';
      let saidAt = Number.NEGATIVE_INFINITY;
      try {
        const result = await run((detail) => {
          if (detail === lastDetail) return;
          lastDetail = detail;
          if (output.isTTY) show(`${text}: ${detail}`);
          else if (now() - saidAt >= quietMs) {
            saidAt = now();
            output.write(`      ${text}: ${detail}\n`);
          }
        });
        running = undefined;
        line(`  ✓ ${text} (${((now() - from) / 1000).toFixed(1)} s)`);
        return result;
      } catch (error) {
        running = undefined;
        line(`  ✗ ${text}`);
        throw error;
      }
    },
  };
}
