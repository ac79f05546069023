// A response body out of an async iterable: the next piece is only made when the socket takes it.
import type { PullBody } from './http-message.ts';

/**
 * Whoever leaves early ends the source, too: its `finally` runs. `closed` is called first, for a source that waits for
 * something that only a signal ends. An error of the source is thrown by `pull`: the reader is cut and not told an end.
 */
export function pullBodyOf(source: AsyncIterable<Buffer>, closed: () => void = () => {}): PullBody {
  const iterator = source[Symbol.asyncIterator]();
  let ready: Buffer | undefined;
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let left = false;
  let pending = false;
  let callback: (() => void) | undefined;

  function arrived(): void {
    pending = false;
    const call = callback;
    callback = undefined;
    if (!left) call?.();
  }

  function advance(): void {
    if (pending || ended || ready) return;
    pending = true;
    iterator.next().then(
      ({ value, done }) => {
        if (done) ended = true;
        else ready = value;
        arrived();
      },
      (error: unknown) => {
        ended = true;
        failure = { error };
        arrived();
      },
    );
  }

  return {
    pull: (maxBytes) => {
      if (left) return null;
      if (ready) {
        const piece = ready.subarray(0, maxBytes);
        ready = piece.length < ready.length ? ready.subarray(maxBytes) : undefined;
        return piece;
      }
      if (failure) throw failure.error;
      if (ended) return null;
      advance();
      return undefined;
    },
    onReady: (call) => {
      if (ready || ended) queueMicrotask(call);
      else {
        callback = call;
        advance();
      }
    },
    close: () => {
      if (left) return;
      left = true;
      ready = undefined;
      callback = undefined;
      closed();
      // Asked while a piece is being made, a generator ends after that piece.
      if (!ended) iterator.return?.().then(undefined, () => undefined);
    },
  };
}
