// Makes a fresh Wine prefix: runs wineboot in a container of the runtime tree and waits until the registry is written.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError, type Processes, runOrThrow } from '../../os/processes.ts';
import { wine, wineEnvironment, winePrefix, wineServer } from './wine-paths.ts';

/** `prefix` is an empty folder; it is filled. Takes 8 to 20 seconds. */
export async function bootPrefix(options: {
  readonly processes: Processes;
  readonly runc: string;
  readonly runtimeRoot: string;
  readonly prefix: string;
  readonly workDir: string;
}): Promise<void> {
  const { processes, runc, workDir } = options;
  await mkdir(workDir, { recursive: true });
  const bundle = await mkdtemp(join(workDir, 'wineboot-'));
  const id = `porthole-wineboot-${process.pid}-${Date.now().toString(36)}`;
  const state = ['--root', join(bundle, 'runc')];
  await writeFile(join(bundle, 'config.json'), JSON.stringify(bootSpec(options.runtimeRoot, options.prefix)));
  // The server is the container's first process: it ends by itself, registry written, after its last client.
  const server = processes.spawn(runc, [...state, 'run', '--bundle', bundle, id]);
  server.stdin?.end();
  let said = '';
  server.stderr?.on('data', (data: Buffer) => {
    said += data.toString();
  });
  try {
    await untilRunning(processes, runc, [...state, 'state', id], server.exited, () => said);
    const args = [...state, 'exec', id, wine, 'wineboot', '--init'];
    const booted = await processes.run(runc, args, { timeoutMs: 180_000 });
    if (booted.code !== 0) throw new CommandError(runc, args, booted);
    await Promise.race([
      server.exited,
      delay(60_000, undefined, { ref: false }).then(() =>
        Promise.reject(new Error('wineserver did not end after wineboot')),
      ),
    ]);
  } finally {
    await processes.run(runc, [...state, 'delete', '--force', id]).catch(() => undefined);
    await rm(bundle, { recursive: true, force: true });
  }
}

async function untilRunning(
  processes: Processes,
  runc: string,
  args: readonly string[],
  exited: Promise<number>,
  said: () => string,
): Promise<void> {
  let ended = false;
  exited.then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  for (let attempt = 0; attempt < 100; attempt++) {
    if (ended) break;
    const { code, stdout } = await processes.run(runc, args);
    if (code === 0 && /"status": "running"/.test(stdout.toString())) return;
    await delay(50);
  }
  throw new Error(`Wine's server did not start in its container: ${said().trim() || 'no reason given'}`);
}

const capabilities = ['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_FOWNER', 'CAP_KILL'];

function bootSpec(root: string, prefix: string): object {
  const tmpfs = (destination: string, mode: string): object => ({
    destination,
    type: 'tmpfs',
    source: 'tmpfs',
    options: ['nosuid', `mode=${mode}`],
  });
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: [wineServer, '--foreground', '--persistent=5'],
      env: [
        ...wineEnvironment,
        'USER=ContainerAdministrator',
        'WINEARCH=win64',
        // No dialogs for .NET and HTML engines, no desktop menus.
        'WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d',
      ],
      cwd: '/',
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    hostname: 'template',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      tmpfs('/dev', '755'),
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['newinstance', 'ptmxmode=0666'],
      },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro'] },
      tmpfs('/tmp', '1777'),
      { destination: winePrefix, type: 'bind', source: prefix, options: ['rbind', 'rw'] },
    ],
    linux: {
      namespaces: [{ type: 'pid' }, { type: 'ipc' }, { type: 'uts' }, { type: 'mount' }, { type: 'network' }],
    },
  };
}

/** runc must be there and run: said before anything is built. */
export async function checkRunc(processes: Processes, runc: string): Promise<void> {
  try {
    await runOrThrow(processes, runc, ['--version']);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(`${runc} is not installed. Install it with: apt-get install runc`, { cause: error });
  }
}
