// Randomness as a port: seeded in tests, so names and jitter replay.

export interface Random {
  /** A whole number in [0, below). */
  uint(below: number): number;
  /** In [0, 1). */
  fraction(): number;
  uuid(): string;
}

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Upstream's rand.String: no vowels, so no words. */
export function randomSuffix(random: Random, length = 5): string {
  let text = '';
  for (let i = 0; i < length; i++) text += suffixAlphabet[random.uint(suffixAlphabet.length)];
  return text;
}
