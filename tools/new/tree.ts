// The tree that gets new files: nothing that is there is written over, and a line that finds no place is an error.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export class Tree {
  readonly root: string;
  readonly #touched = new Set<string>();

  constructor(root: string) {
    this.root = root;
  }

  /** Made or changed, in that order. */
  get touched(): readonly string[] {
    return [...this.#touched];
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  json<T>(path: string): T {
    return JSON.parse(this.read(path)) as T;
  }

  create(path: string, text: string): void {
    if (this.has(path)) throw new Error(`${path} is there already`);
    this.#write(path, text);
  }

  edit(path: string, change: (text: string) => string): void {
    const before = this.read(path);
    const after = change(before);
    if (after === before)
      throw new Error(`${path} has no place for the new line any more: tools/new looks for one`);
    this.#write(path, after);
  }

  /** Puts an import where the formatter sorts it from. */
  addImport(path: string, line: string): void {
    this.edit(path, (text) => text.replace(/^import /m, () => `${line}\nimport `));
  }

  #write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
    this.#touched.add(path);
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
