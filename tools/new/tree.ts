// The tree that gets new files: nothing that is there is written over, a line that finds no place is an error, and then nothing is written.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export class Tree {
  readonly root: string;
  readonly #touched = new Set<string>();
  /** By path what is to be written. */
  readonly #waiting = new Map<string, string>();

  constructor(root: string) {
    this.root = root;
  }

  /** Made or changed, in that order. */
  get touched(): readonly string[] {
    return [...this.#touched];
  }

  has(path: string): boolean {
    return this.#waiting.has(path) || existsSync(join(this.root, path));
  }

  read(path: string): string {
    return this.#waiting.get(path) ?? readFileSync(join(this.root, path), 'utf8');
  }

  json<T>(path: string): T {
    return JSON.parse(this.read(path)) as T;
  }

  create(path: string, text: string): void {
    if (this.has(path)) throw new Error(`${path} is there already`);
    this.#put(path, text);
  }

  edit(path: string, change: (text: string) => string): void {
    const before = this.read(path);
    const after = change(before);
    if (after === before)
      throw new Error(`${path} has no place for the new line any more: tools/new looks for one`);
    this.#put(path, after);
  }

  /** Puts an import where the formatter sorts it from. */
  addImport(path: string, line: string): void {
    this.edit(path, (text) => text.replace(/^import /m, () => `${line}\nimport `));
  }

  #put(path: string, text: string): void {
    this.#waiting.set(path, text);
    this.#touched.add(path);
  }

  /** All that was made and changed. */
  write(): void {
    for (const [path, text] of this.#waiting) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      writeFileSync(join(this.root, path), text);
    }
    this.#waiting.clear();
  }

  /** A program of this repository, on this Node. */
  run(...args: readonly string[]): void {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: this.root,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${args[0]} failed:\n${stdout}${stderr}`);
  }

  format(): void {
    const files = this.touched.filter((path) => path.endsWith('.ts'));
    this.run('node_modules/@biomejs/biome/bin/biome', 'check', '--write', ...files);
  }
}

/** `job-counter` of `JobCounter`, `jobCounter` or `job-counter`. */
export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
export const pascal = (name: string): string =>
  kebab(name)
    .split('-')
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('');
export const camel = (name: string): string => pascal(name).slice(0, 1).toLowerCase() + pascal(name).slice(1);
