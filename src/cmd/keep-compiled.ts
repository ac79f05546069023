// Says that a program has started: what V8 has compiled of its script by now is what the next start needs.
declare const PORTHOLE_KEEP_COMPILED: (() => void) | undefined;

/** A server that is ready then hears from its nodes, and an agent that runs registers: that is compiled at each start, too. */
const startsForMs = 5_000;

/** Before V8 gets other settings, under which it takes no code that was compiled without them. In the sources there is no script. */
export function keepCompiled(): void {
  if (typeof PORTHOLE_KEEP_COMPILED !== 'undefined') PORTHOLE_KEEP_COMPILED();
}

/** `settle` gives V8 settings for what runs long. */
export function settleOnceStarted(settle: () => void): void {
  setTimeout(() => {
    keepCompiled();
    settle();
  }, startsForMs).unref();
}
