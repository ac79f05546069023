// A folder of its own for a test, gone afterwards.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names a file in which the runner of e2e tests finds the folders of a test that was killed. */
export const scratchListVariable = 'PORTHOLE_TEST_FOLDERS';

export function scratchDirectory(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `porthole-${name}-`));
  const list = process.env[scratchListVariable];
  if (list !== undefined) appendFileSync(list, `${path}\n`);
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}
