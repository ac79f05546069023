// What a test can read of this repository, found in the text of its file and of all that this names: rather too much than too little.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** Where programs and tests put what they make; it follows from the rest. */
const made = new Set(['.git', '.cache', 'node_modules', 'dist', 'lib', 'coverage']);

const isMade = (name: string): boolean => made.has(name) || /^(dist\.new-|\.types-)|\.log$/.test(name);

function* filesBelow(root: string, folder: string): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    if (isMade(entry.name)) continue;
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(root, path);
    else if (entry.isFile()) yield path;
  }
}

const isProgram = (path: string): boolean => /[.](ts|mjs|cjs|js|sh)$|^bin\//.test(path);

/** Whoever says one of these may read anything. */
const anything = /import\.meta\.(?:dirname|filename)|process\.cwd\(|globSync|\bimport\((?!\s*['"`]|\s*$)/m;
/** A quote that begins like a path and, if it goes on in a template, up to there. */
const relativePath = /(['"`])(\.{1,2}\/[^'"`$\n]*)/g;
const quoted = /(['"`])([^'"`$\n]+)\1/g;
const onlyDots = /^[./]*$/;

const all = Symbol('all of the repository');

export class TestInputs {
  readonly #root: string;
  readonly #files: ReadonlySet<string>;
  /** Each folder, and all below it. */
  readonly #folders = new Map<string, string[]>();
  readonly #texts = new Map<string, string>();
  readonly #digests = new Map<string, string>();
  readonly #named = new Map<string, ReadonlySet<string> | typeof all>();
  #whole: string | undefined;

  constructor(root: string) {
    this.#root = root;
    const files = [...filesBelow(root, '')].sort();
    this.#files = new Set(files);
    for (const file of files)
      for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
        const below = this.#folders.get(folder);
        if (below) below.push(file);
        else this.#folders.set(folder, [file]);
      }
  }

  /** All that the test can read, by content; whatever else it depends on is up to the caller. */
  digest(test: string): string {
    const inputs = this.#inputs(test);
    if (inputs === all) return this.#digestOfAll();
    return this.#digestOf([...inputs].sort());
  }

  /** Whether the test counts as one that may read anything. */
  readsAnything(test: string): boolean {
    return this.#inputs(test) === all;
  }

  #digestOfAll(): string {
    this.#whole ??= this.#digestOf([...this.#files]);
    return this.#whole;
  }

  #digestOf(files: readonly string[]): string {
    const hash = createHash('sha256');
    for (const file of files) hash.update(`${file}\0${this.#digestOfFile(file)}\0`);
    return hash.digest('hex');
  }

  #digestOfFile(file: string): string {
    let digest = this.#digests.get(file);
    if (digest === undefined) {
      digest = createHash('sha256').update(this.#read(file)).digest('hex');
      this.#digests.set(file, digest);
    }
    return digest;
  }

  #read(file: string): Buffer | string {
    if (!isProgram(file)) return readFileSync(join(this.#root, file));
    let text = this.#texts.get(file);
    if (text === undefined) {
      text = readFileSync(join(this.#root, file), 'utf8');
      this.#texts.set(file, text);
    }
    return text;
  }

  #inputs(test: string): ReadonlySet<string> | typeof all {
    const seen = new Set([test]);
    for (const file of seen) {
      if (!isProgram(file)) continue;
      const named = this.#namedBy(file);
      if (named === all) return all;
      for (const path of named) seen.add(path);
    }
    return seen;
  }

  #namedBy(file: string): ReadonlySet<string> | typeof all {
    let named = this.#named.get(file);
    if (named === undefined) {
      named = this.#look(file, String(this.#read(file)));
      this.#named.set(file, named);
    }
    return named;
  }

  /** The files at `path`, which may be one or a folder of them. */
  #at(path: string): readonly string[] | typeof all {
    const normal = posix.normalize(path).replace(/\/$/, '');
    if (normal === '.') return all;
    return this.#files.has(normal) ? [normal] : (this.#folders.get(normal) ?? []);
  }

  #look(file: string, text: string): ReadonlySet<string> | typeof all {
    if (anything.test(text)) return all;
    const paths: string[] = [];
    const folder = dirname(file);
    for (const [, , path] of text.matchAll(relativePath))
      if (!onlyDots.test(path!)) paths.push(posix.join(folder, path!.replace(/\*.*/, '')));
    for (const line of text.split('\n')) {
      if (!line.includes('import.meta.url') || line.includes('createRequire(import.meta.url)')) continue;
      const here = [...line.matchAll(quoted), ...line.matchAll(relativePath)].map(([, , path]) =>
        posix.join(folder, path!),
      );
      // Said on another line, or computed.
      if (here.length === 0) return all;
      paths.push(...here);
    }
    for (const [, , path] of text.matchAll(quoted))
      if (/^\w[^*]*\//.test(path!) || this.#mayStandAlone(file, path!)) paths.push(path!.replace(/\*.*/, ''));
    const named = new Set<string>();
    for (const path of paths) {
      const files = this.#at(path);
      if (files === all) return all;
      for (const one of files) named.add(one);
    }
    return named;
  }

  /** Of the top folder only in a program of the tests: 'docs' elsewhere is a word. */
  #mayStandAlone(file: string, path: string): boolean {
    return (
      /[.]test[.]ts$|\/testing\/|^(?:tools|test)\//.test(file) &&
      (this.#files.has(path) || this.#folders.has(path))
    );
  }
}
