// Whose signatures on service account tokens are good: keys of this server, or of a program that keeps them.
import type { VerificationKey } from '../../../crypto/jwt.ts';

export interface TokenKeys {
  /** The same list until there is another. */
  now(): readonly VerificationKey[];
  /** A token names a key that nobody knows: there may be a new one. Undefined: there is none. */
  lookAgain?(): Promise<void>;
  /** How long others may remember them. */
  maxAgeSeconds(): number;
}

/** As upstream, of keys that do not change while the server runs. */
const fixedMaxAgeSeconds = 3600;

export const fixedKeys = (keys: readonly VerificationKey[]): TokenKeys => ({
  now: () => keys,
  maxAgeSeconds: () => fixedMaxAgeSeconds,
});
