// Joins two connections, bytes both ways, until both are gone: whichever ends, errs or is gone already takes the other along.
import type { Duplex } from 'node:stream';

/** Sockets can end after what is written has gone out. */
type Closable = Duplex & { destroySoon?: () => void };

/** A peer that does not take the last bytes for so long is cut. */
const lingerMs = 10_000;

function endSoon(socket: Closable): void {
  if (socket.destroyed) return;
  if (!socket.destroySoon) {
    socket.destroy();
    return;
  }
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  // What is kept back while the peer is slow would hold the end back, too.
  socket.resume();
  socket.destroySoon();
}

/** A half that ends lets the other one finish; when one is gone the other goes after its last bytes. */
export function joinSockets(a: Closable, b: Closable): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('error', () => endSoon(to));
    from.on('close', () => endSoon(to));
    from.pipe(to);
  }
  // Its 'close' has been told to nobody.
  if (a.destroyed || b.destroyed) for (const socket of [a, b]) socket.destroy();
}
