// Exchanges parts of a data directory for new ones, wholly or not at all: what was begun is ended by whoever opens it next.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { renameDurably, syncFolder, writeDurably } from '../../component-base/durable-file.ts';

/** One part: `<name>.new` takes its place, and what was there goes to `aside`. Names in the data directory. */
export interface Exchange {
  readonly name: string;
  readonly aside: string;
}

const planName = 'replacing.json';
const planOf = (dataDir: string): string => join(dataDir, planName);
const fresh = (name: string): string => `${name}.new`;

/** Parts that were made ready, and the half of a plan, by somebody who did not come further count for nothing. */
function removeUnused(dataDir: string, names: readonly string[]): void {
  for (const name of [...names, planName])
    rmSync(join(dataDir, fresh(name)), { recursive: true, force: true });
}

/** Each step can be done twice: what is aside stays there, what is new is moved once. */
function carryOut(dataDir: string, plan: readonly Exchange[]): void {
  for (const { name, aside } of plan) {
    const [part, old, made] = [name, aside, fresh(name)].map((one) => join(dataDir, one)) as [
      string,
      string,
      string,
    ];
    if (existsSync(part) && !existsSync(old) && existsSync(made)) renameDurably(part, old);
    if (existsSync(made)) renameDurably(made, part);
  }
  // What the folder is to hold is written down anew by its next start.
  rmSync(join(dataDir, 'contents.json'), { force: true });
  rmSync(planOf(dataDir), { force: true });
  syncFolder(dataDir);
}

/** From the moment that the plan is written it is done, whatever happens to us. For the owner of the directory. */
export function exchange(dataDir: string, plan: readonly Exchange[]): void {
  writeDurably(planOf(dataDir), `${JSON.stringify(plan)}\n`);
  carryOut(dataDir, plan);
}

/** True when an exchange was found that somebody had begun. For the owner of the directory. */
export function endExchange(dataDir: string, names: readonly string[]): boolean {
  const file = planOf(dataDir);
  const found = existsSync(file);
  if (found) carryOut(dataDir, JSON.parse(readFileSync(file, 'utf8')) as Exchange[]);
  removeUnused(dataDir, names);
  return found;
}
