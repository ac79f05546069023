// A body that somebody else sees too, once it has been read to its end.
import type { PullBody } from '../http.ts';

export class TeeBody implements PullBody {
  readonly #body: PullBody;
  readonly #whole: (bytes: Buffer) => void;
  #parts: Buffer[] = [];

  constructor(body: PullBody, whole: (bytes: Buffer) => void) {
    this.#body = body;
    this.#whole = whole;
  }

  get stallMs(): number | undefined {
    return this.#body.stallMs;
  }
  get initialized(): Promise<void> | undefined {
    return this.#body.initialized;
  }
  pull(maxBytes: number): Buffer | undefined | null {
    const bytes = this.#body.pull(maxBytes);
    if (bytes === null) {
      const parts = this.#parts;
      this.#parts = [];
      if (parts.length > 0) this.#whole(Buffer.concat(parts));
    } else if (bytes !== undefined) this.#parts.push(bytes);
    return bytes;
  }
  onReady(callback: () => void): void {
    this.#body.onReady(callback);
  }
  close(): void {
    this.#parts = [];
    this.#body.close();
  }
}
