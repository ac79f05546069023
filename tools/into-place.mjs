// Puts what was bundled where it is started from, while programs of before still run from there. Plain JavaScript.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';

/** Thirty days: longer than a server goes without having loaded all that it needs. */
export const keptMs = 30 * 24 * 3_600_000;

/** A folder to bundle into. Two that bundle at once may have one number, each in a process namespace of its own. */
export const scratchBeside = (dist) => mkdtempSync(`${dist}.new-`);

/**
 * Whoever starts finds either the files of before or those of `scratch`. What runs may still have to load a part of the bundle that it began with
 * (how one makes certificates, say, when the first is due): parts of before go when they are older than `keep`, in milliseconds.
 */
export function intoPlace(scratch, dist, keep) {
  const before = existsSync(dist) ? readdirSync(dist) : [];
  const now = readdirSync(scratch);
  mkdirSync(dist, { recursive: true });
  // The main file last: who sees it new sees the others new.
  const isMain = (name) => name === 'porthole.mjs' || name.endsWith('.cjs');
  for (const name of now.toSorted((a, b) => isMain(a) - isMain(b)))
    renameSync(`${scratch}/${name}`, `${dist}/${name}`);
  const old = Date.now() - keep;
  for (const name of before.filter((name) => !now.includes(name)))
    if (statSync(`${dist}/${name}`).mtimeMs <= old)
      rmSync(`${dist}/${name}`, { recursive: true, force: true });
}
