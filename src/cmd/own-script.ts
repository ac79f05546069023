// A bundled program that is one script, with what V8 had compiled of it by the time that an earlier start was done: also functions
// that are compiled when they are first called. What Node keeps of a module has none of those.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';

/** Each is a few MB, of one program and one version: those of a dozen versions. */
const keptFiles = 36;

/** Then it is written anew, with what was compiled since: the first that started may have been of another kind, as nodes without containers are. */
const freshMs = 24 * 3_600_000;

/** Before the code: two checksums, the script's and the code's. V8 looks at neither, and would run what is damaged. */
const headerBytes = 8;

/** As `tools/one-script.mjs` wraps it. */
type Program = (
  require: NodeJS.Require,
  url: string,
  keepCompiled: () => void,
  later: (module: string) => Promise<unknown>,
  take: Take | undefined,
) => void;

/** Gets what the script would run. */
export type Take = (command: unknown) => void;

/** Not among what every command imports: it is loaded in 5 ms. */
const checksum = (bytes: Buffer | string): number => process.getBuiltinModule('node:zlib').crc32(bytes);

interface Kept {
  readonly code: Buffer;
  readonly isFresh: boolean;
}

/** Code is run as it stands there: nobody else may have written it. */
function readOwn(file: string): Kept {
  const from = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { uid, mode, nlink, mtimeMs } = fstatSync(from);
    const isOwn = uid === process.geteuid?.() && (mode & 0o022) === 0 && nlink === 1;
    if (!isOwn || (mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error(`${file}: of others`);
    return { code: readFileSync(from), isFresh: Date.now() - mtimeMs < freshMs };
  } finally {
    closeSync(from);
  }
}

/** Undefined when there is none of this very script. */
function compiledBefore(file: string, source: number): Kept | undefined {
  try {
    const { code: all, isFresh } = readOwn(file);
    const code = all.subarray(headerBytes);
    const isOf = all.readUInt32LE(0) === source && all.readUInt32LE(4) === checksum(code);
    return isOf ? { code, isFresh } : undefined;
  } catch {
    return undefined;
  }
}

/** Checksum, version and architecture; and of what was not written to its end, by whom and when. */
const ourName = /^[\da-f]{1,8}-v\d[\w.+-]*-[a-z]\w*(\.\d+-\d+)?$/;

/** A folder is ours alone: in one that others write to, or that a link names, nothing is written, and nothing removed. */
function makeOwnFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.geteuid?.() || (found.mode & 0o022) !== 0)
    throw new Error(`${folder}: of others`);
}

function removeOld(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => ourName.test(name))
    .map((name) => join(folder, name));
  const ages = files.map((file) => ({ file, at: lstatSync(file).mtimeMs }));
  for (const { file } of ages.toSorted((a, b) => b.at - a.at).slice(keptFiles)) rmSync(file, { force: true });
}

/** Whole or not at all, and where nothing can be written not even made. */
function write(folder: string, file: string, source: number, script: Script): void {
  const scratch = `${file}.${process.pid}-${Date.now()}`;
  makeOwnFolder(folder);
  const to = openSync(scratch, 'wx', 0o600);
  try {
    try {
      const code = script.createCachedData();
      const header = Buffer.alloc(headerBytes);
      header.writeUInt32LE(source, 0);
      header.writeUInt32LE(checksum(code), 4);
      const kept = Buffer.concat([header, code]);
      for (let written = 0; written < kept.length; ) written += writeSync(to, kept, written);
    } finally {
      closeSync(to);
    }
    renameSync(scratch, file);
  } catch (error) {
    rmSync(scratch, { force: true });
    throw error;
  }
  removeOld(folder);
}

function keep(folder: string, file: string, source: number, script: Script): void {
  try {
    write(folder, file, source, script);
  } catch {
    // Nobody misses it: the next start tries again.
  }
}

/** False when there is no such script. `folder`: where compiled code is kept, if anywhere. `take`: its command is not run, but handed out. */
export function runOwnScript(file: string, folder: string | undefined, take?: Take): boolean {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch {
    return false;
  }
  const source = checksum(text);
  const name = `${source.toString(16)}-${process.version}-${process.arch}`;
  const kept = folder === undefined ? undefined : compiledBefore(join(folder, name), source);
  const script = new Script(text, { filename: file, ...(kept && { cachedData: kept.code }) });
  const isKept = kept?.isFresh === true && !script.cachedDataRejected;
  const run = script.runInThisContext() as Program;
  const { href } = pathToFileURL(file);
  const keepCompiled =
    isKept || folder === undefined
      ? (): void => {}
      : (): void => keep(folder, join(folder, name), source, script);
  run(createRequire(file), href, keepCompiled, (module) => import(new URL(module, href).href), take);
  return true;
}
