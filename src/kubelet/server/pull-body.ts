// A response body out of an async iterable: the next piece is only made when the socket takes it.
import type { PullBody } from '../../wire/http-message.ts';

export function pullBodyOf(source: AsyncIterable<Buffer>, closed: () => void): PullBody {
  const iterator = source[Symbol.asyncIterator]();
  let ready: Buffer | undefined;
  let ended = false;
  let pending = false;
  let callback: (() => void) | undefined;

  function advance(): void {
    if (pending || ended || ready) return;
    pending = true;
    iterator.next().then(
      ({ value, done }) => {
        pending = false;
        if (done) ended = true;
        else ready = value;
        const call = callback;
        callback = undefined;
        call?.();
      },
      () => {
        // The rest can't be read: what was sent so far is all there is.
        pending = false;
        ended = true;
        const call = callback;
        callback = undefined;
        call?.();
      },
    );
  }

  return {
    pull: (maxBytes) => {
      if (ready) {
        const piece = ready.subarray(0, maxBytes);
        ready = piece.length < ready.length ? ready.subarray(maxBytes) : undefined;
        return piece;
      }
      if (ended) return null;
      advance();
      return undefined;
    },
    onReady: (call) => {
      if (ready || ended) call();
      else {
        callback = call;
        advance();
      }
    },
    close: () => {
      ended = true;
      closed();
    },
  };
}
