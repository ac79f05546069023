// A folder of its own for a test, gone afterwards.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function scratchDirectory(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `porthole-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}
