// Windows images for tests: programs that others published, and one that holds next to nothing.
import { join } from 'node:path';
import { prepareWindowsEmulation } from '../../src/emulation/wine/windows-handler.ts';
import { writeLayer } from '../../src/images/image-tar.ts';
import { fetchNpmProgram } from '../../src/images/npm-program.ts';
import { writeImageArchive } from '../../src/images/oci-archive.ts';
import {
  buildImage,
  type SampleImage,
  sampleImages,
  windowsBaseEntries,
  windowsOsVersion,
} from '../../src/images/sample-images.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { cacheDir, nativeDir } from './windows-runtime.ts';

export const testBuilds: readonly number[] = [17763, 20348, 25398, 26100];

const windows = { windows: true };
const noProgram = { config: {}, os: 'windows', architecture: 'amd64' } as const;

/** A Go program and a self-contained .NET program, both from npm, and files in the image's own C:\Windows. */
export async function programsImage(): Promise<SampleImage> {
  const reference = 'porthole.local/test/programs-windows:1';
  const osVersion = windowsOsVersion(20348);
  const fetch = (name: string, version: string, path: string): Promise<string> =>
    fetchNpmProgram(linuxProcesses, cacheDir, { name, version, path });
  const go = await fetch('@esbuild/win32-x64', '0.28.2', 'esbuild.exe');
  const dotnet = await fetch('@microsoft/sarif-multitool-win32', '5.7.0', 'Sarif.Multitool.exe');
  const file = await buildImage(cacheDir, { reference, key: ['1', osVersion] }, async (workDir) => {
    const layers = ['base', 'programs', 'delta'].map((name) => join(workDir, `${name}.tar`));
    await writeLayer(layers[0]!, windowsBaseEntries, windows);
    await writeLayer(
      layers[1]!,
      [
        { kind: 'file', path: 'Files/tools/esbuild.exe', data: { file: go }, mode: 0o755 },
        { kind: 'file', path: 'Files/tools/sarif.exe', data: { file: dotnet }, mode: 0o755 },
        { kind: 'file', path: 'Files/tools/old.txt', data: 'old' },
        { kind: 'file', path: 'Files/Windows/System32/acme.txt', data: 'acme' },
        { kind: 'file', path: 'Files/Windows/acme.ini', data: '[acme]' },
      ],
      windows,
    );
    await writeLayer(layers[2]!, [{ kind: 'file', path: 'Files/tools/.wh.old.txt', data: '' }], windows);
    return [{ ...noProgram, osVersion, config: { WorkingDir: 'C:\\TOOLS' }, layers }];
  });
  return { reference, file, platform: 'windows/amd64', osVersion };
}

/** No program of its own: what runs is the node's. */
export async function emptyImage(): Promise<SampleImage> {
  const reference = 'porthole.local/test/empty-windows:1';
  const osVersion = windowsOsVersion(20348);
  const file = await buildImage(cacheDir, { reference, key: ['1'] }, async (workDir) => {
    const layer = join(workDir, 'base.tar');
    await writeLayer(layer, windowsBaseEntries, windows);
    return [{ ...noProgram, osVersion, layers: [layer] }];
  });
  return { reference, file, platform: 'windows/amd64', osVersion };
}

/** Hostile: its C: and its C:\Windows are links to the machine's own folders. Only an unchecked load lets it in. */
export async function linkImage(workDir: string): Promise<SampleImage> {
  const reference = 'porthole.local/test/link-windows:1';
  const osVersion = windowsOsVersion(20348);
  const file = join(workDir, 'link.tar');
  const layers = ['bottom', 'top'].map((name) => join(workDir, `${name}.tar`));
  await writeLayer(layers[0]!, [{ kind: 'symlink', path: 'Files', target: '/' }]);
  await writeLayer(layers[1]!, [{ kind: 'directory', path: 'Hives' }]);
  await writeImageArchive(file, reference, [{ ...noProgram, osVersion, layers }]);
  return { reference, file, platform: 'windows/amd64', osVersion };
}

/** The Windows web server of the samples. */
export async function webImage(): Promise<SampleImage> {
  const images = await sampleImages({ processes: linuxProcesses, cacheDir, nativeDir });
  const web = images.find(({ platform }) => platform === 'windows/amd64');
  if (!web) throw new Error('no Windows sample');
  return web;
}

/** Everything that needs the network, fetched into the cache before the tests go into their box. */
export async function prepareWindowsTests(say: (text: string) => void): Promise<void> {
  say("making the Windows emulation's runtime and templates");
  for (const build of testBuilds) {
    await prepareWindowsEmulation({ processes: linuxProcesses, cacheDir, nativeDir, build });
  }
  say('building the sample and test images');
  await webImage();
  await programsImage();
  await emptyImage();
}
