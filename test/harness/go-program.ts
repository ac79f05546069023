// The tests' Go program, built against client-go as Debian 13 ships it: compiler and libraries are unpacked, nothing is installed.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { intoPlace } from '../../src/cmd/setup/into-place.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { fetchDebianPackages, unpackDebianPackages } from '../../src/emulation/wine/debian-packages.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';

const goVersion = '1.24';
const packages = [`golang-${goVersion}-go`, 'golang-k8s-client-go-dev'];
const source = fileURLToPath(new URL('../e2e/programs/client-go/main.go', import.meta.url));

const toolchain = (): string => join(portholeCache(), 'tests', `go-${goVersion}-client-go`);
const built = (): string => {
  const key = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16);
  return join(portholeCache(), 'tests', `client-go-${key}`);
};

/** Before the tests' boxes, which reach no network. */
export async function prepareClientGo(say: (text: string) => void): Promise<void> {
  if (existsSync(built()) || existsSync(toolchain())) return;
  say(`fetching Go ${goVersion} and client-go from Debian 13 (82 MB)`);
  await intoPlace(toolchain(), async (scratch) => {
    const root = join(scratch, 'apt');
    await mkdir(root);
    const { files } = await fetchDebianPackages({ processes: linuxProcesses, root, packages });
    await unpackDebianPackages(linuxProcesses, files, scratch);
    await rm(root, { recursive: true });
  });
}

/** Its path. It takes three minutes of a processor the first time, and again when its source has changed. */
export async function clientGoProgram(): Promise<string> {
  const program = join(built(), 'client-go');
  if (existsSync(program)) return program;
  const goroot = join(toolchain(), 'usr/lib', `go-${goVersion}`);
  await intoPlace(built(), async (scratch) => {
    const cache = join(scratch, 'cache');
    const output = join(scratch, 'client-go');
    await runOrThrow(linuxProcesses, join(goroot, 'bin/go'), ['build', '-trimpath', '-o', output, source], {
      timeoutMs: 560_000,
      env: {
        GOROOT: goroot,
        GOPATH: join(toolchain(), 'usr/share/gocode'),
        GOCACHE: cache,
        GOTMPDIR: scratch,
        GO111MODULE: 'off',
        GOTOOLCHAIN: 'local',
        CGO_ENABLED: '0',
        HOME: scratch,
      },
    });
    await rm(cache, { recursive: true });
  });
  return program;
}
