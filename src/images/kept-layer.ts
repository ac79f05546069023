// A layer that is written to a file while it is read, as containerd keeps what it has: for reading only, and surely on the disk.
import { open } from 'node:fs/promises';

export interface KeptLayer extends AsyncDisposable {
  write(piece: Buffer): Promise<void>;
  /** What names it by its digest may outlive a power cut: its content must, too. */
  sync(): Promise<void>;
}

export async function openKept(path: string): Promise<KeptLayer> {
  const file = await open(path, 'wx', 0o444);
  return {
    write: async (piece) => {
      for (let at = 0; at < piece.length; ) {
        const { bytesWritten } = await file.write(piece, at);
        at += bytesWritten;
      }
    },
    sync: () => file.datasync(),
    [Symbol.asyncDispose]: () => file.close(),
  };
}
