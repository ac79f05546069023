// What a controller throws when a key has to wait for somebody else: tried again as a failure is, but none.

export class IgnorableError extends Error {
  override readonly name = 'IgnorableError';
}
